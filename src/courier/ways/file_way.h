// A file that events are appended to, a line of JSON each; on the disk before they are settled.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/courier/options.h"
#include "way.h"

namespace quarry::courier {

class FileWay final : public Way {
 public:
  explicit FileWay(const DestinationOptions& options) : options_(options) {}

  Delivered deliver(const Letter& letter) override;
  base::Result<void> finish() override;
  void reopen() override { file_.reset(); }

 private:
  base::Result<void> open();
  base::Result<void> append(std::string_view line);

  DestinationOptions options_;
  base::Fd file_;
  bool is_dirty_ = false;
};

}  // namespace quarry::courier
