// Sends HTTP over the standard input and output of a program, `PROGRAM test-http FILE`. The program
// is started locally for file: URLs, and by ssh on another host for ssh: URLs.
//
// The program is started without a local shell. On the remote host, ssh passes the command to the
// user's shell, so each word is quoted. Some programs exit after each request. If the program has
// exited, the next request starts it again.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/http/reply_header.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

class ProgramTransport : public Transport {
 public:
  ProgramTransport(const RemoteUrl& url, const TransportOptions& options);
  ~ProgramTransport() override;

  Result<TransportReply> exchange(const sync::ClientRequest& request) override;
  std::string remote_address() const override { return address_; }

 private:
  Result<void> start();
  void stop();
  bool send(std::string_view bytes);
  Result<TransportReply> attempt(const std::string& request);
  Result<http::ReplyHeader> read_header();
  Result<TransportReply> read_body(const http::ReplyHeader& header);
  Result<std::size_t> read_more();
  Error ended(const char* when);
  bool is_interrupted() const { return options_.is_interrupted && options_.is_interrupted(); }

  TransportOptions options_;
  std::vector<std::string> command_;
  std::string address_;
  std::string path_;
  bool is_own_;  // the program is TransportOptions::local_program
  bool is_fossil_;
  std::string host_;
  pid_t pid_ = -1;
  base::Fd to_;
  base::Fd from_;
  std::string received_;   // output of the program that has not been processed yet
  bool answered_ = false;  // whether the program has sent data since the last request
};

}  // namespace quarry::transport
