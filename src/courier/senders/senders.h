// Makes the senders, one class for each type of destination, and has their parts that need no
// connection. What each type does is described in its file.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/command.h"
#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

std::unique_ptr<Sender> make_file_sender(const DestinationOptions& options,
                                         Interrupted is_interrupted);
std::unique_ptr<Sender> make_hook_sender(const CourierOptions& options, Interrupted is_interrupted);
std::unique_ptr<Sender> make_log_sender(const DestinationOptions& options);
/// Errors: cannot read the password.
base::Result<std::unique_ptr<Sender>> make_mail_sender(const DestinationOptions& options,
                                                       Interrupted is_interrupted);
std::unique_ptr<Sender> make_program_sender(const DestinationOptions& options,
                                            Interrupted is_interrupted);
/// Errors: cannot read the secret.
base::Result<std::unique_ptr<Sender>> make_webhook_sender(const DestinationOptions& options,
                                                          Interrupted is_interrupted);

/// The environment of the programs that the courier runs: PATH (or a default), HOME, USER, LANG, TZ
/// and TMPDIR of this process.
std::vector<std::string> small_environment();
/// Runs COMMAND to its end. Unexpected: the outcome of the delivery, because COMMAND could not be
/// started or was interrupted.
std::expected<base::CommandEnd, DeliveryResult> run_to_deliver(const base::Command& command,
                                                               const Interrupted& is_interrupted);

/// COMMAND with %F and %R replaced by FOSSIL and REPOSITORY, and %A removed. The values are not
/// quoted: as in fossil, that is up to the author of the command. Other % signs are kept. Errors:
/// kInvalid (FOSSIL or REPOSITORY contains a character that is special to a shell).
base::Result<std::string> hook_line(const event::Hook& hook, const std::string& default_fossil);

/// One line about EVENT for people: "[project] check-in by ann: comment".
std::string subject_of(const event::Event& event);
/// All details of EVENT for people, as lines.
std::string text_of(const event::Event& event);
/// The recipients of a mail about EVENT.
std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options);
/// A complete mail about EVENT, with all headers; lines end in LF.
std::string compose_mail(const event::Event& event, const DestinationOptions& options);

/// HMAC-SHA256 (RFC 2104) of BODY with SECRET, in hexadecimal.
std::string signature_of(std::string_view secret, std::string_view body);
/// The first line of the file at PATH. Errors: kNotFound, kIo, kInvalid (empty or too long).
base::Result<std::string> read_secret(const std::string& path);
/// Whether STATUS of an HTTP server, which is not 2xx, is a permanent failure.
bool is_final_status(long status);

}  // namespace quarry::courier
