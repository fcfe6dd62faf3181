-- One sync request with nothing new, over and over. Arguments: the file with its body.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/x-fossil"

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  wrk.body = file:read("*a")
  file:close()
  if arguments[2] == "close" then wrk.headers["Connection"] = "close" end
end
