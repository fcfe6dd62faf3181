// Steps 3 and 4: who goes before whom, who can never go, and who may go now.
#pragma once

#include <string>

#include "tracker.h"
#include "work.h"

namespace quarry::changes {

class Queueing final : public Work {
 public:
  explicit Queueing(const Desk& desk)
      : desk_(desk), tracker_(desk.directories, desk.options.rules) {}
  base::Result<void> begin() override;
  base::Result<void> run(Scan scan) override;

 private:
  base::Result<void> make_logs();
  base::Result<void> look(Scan scan);
  base::Result<void> fail_doomed();
  base::Result<void> stage();
  base::Result<void> let_go();
  base::Result<void> put_aside(const ChangeSetName& name);
  base::Result<void> move(const ChangeSetId& id, Stage to, const std::string& why);

  Desk desk_;
  Tracker tracker_;
};

}  // namespace quarry::changes
