-- Repeats a sync request that has nothing new. Arguments: the file with the request's body, and optionally "close".
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/x-fossil"

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  wrk.body = file:read("*a")
  file:close()
  if arguments[2] == "close" then wrk.headers["Connection"] = "close" end
end
