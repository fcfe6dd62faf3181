// Creates the senders, one class for each type of destination. Also declares functions that the
// senders use and that do not need a connection.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/command.h"
#include "quarry/courier/address_rules.h"
#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

std::unique_ptr<Sender> make_file_sender(const DestinationOptions& options,
                                         Interrupted is_interrupted);
std::unique_ptr<Sender> make_hook_sender(const CourierOptions& options, Interrupted is_interrupted);
std::unique_ptr<Sender> make_log_sender(const DestinationOptions& options);
/// Creates a sender of mail. Errors: the password cannot be read.
Result<std::unique_ptr<Sender>> make_mail_sender(const DestinationOptions& options,
                                                 Interrupted is_interrupted);
std::unique_ptr<Sender> make_program_sender(const DestinationOptions& options,
                                            Interrupted is_interrupted);
/// Creates a sender of HTTP requests. Errors: the secret or the template cannot be read, or the
/// template is not valid.
Result<std::unique_ptr<Sender>> make_webhook_sender(const DestinationOptions& options,
                                                    Interrupted is_interrupted);

/// Creates a sender of HTTP requests that connects only to addresses that RULES allow. Requests are
/// signed with SECRET unless it is empty.
std::unique_ptr<Sender> make_repository_webhook_sender(const DestinationOptions& options,
                                                       const std::string& secret,
                                                       const AddressRules& rules,
                                                       Interrupted is_interrupted);

/// Returns the environment of the courier's programs: PATH (or a default), HOME, USER, LANG, TZ and
/// TMPDIR of this process.
std::vector<std::string> small_environment();
/// Runs COMMAND and waits until it exits. If COMMAND could not be started or was interrupted,
/// returns the outcome of the delivery as the unexpected value.
std::expected<base::CommandEnd, DeliveryResult> run_to_deliver(const base::Command& command,
                                                               const Interrupted& is_interrupted);

/// Returns the command of HOOK. Replaces %F with the fossil program and %R with the repository,
/// removes %A, and keeps other % signs. As in fossil, the values are not quoted, because the author
/// of the command has to quote them. Errors: kInvalid (a value contains a character that is special
/// to a shell).
Result<std::string> hook_line(const event::Hook& hook, const std::string& default_fossil);

/// Returns a line about EVENT for people: "[project] check-in by ann: comment".
std::string subject_of(const event::Event& event);
/// Returns all details of EVENT as lines for people.
std::string text_of(const event::Event& event);
std::vector<std::string> recipients_of(const event::Event& event,
                                       const DestinationOptions& options);
/// Returns a complete email about EVENT, with all headers. Lines end in LF.
std::string compose_mail(const event::Event& event, const DestinationOptions& options);

/// Returns the HMAC-SHA256 (RFC 2104) of BODY with SECRET, in hexadecimal.
std::string signature_of(std::string_view secret, std::string_view body);
/// Returns the first line of the file at PATH. Errors: kNotFound, kIo, kInvalid (empty or too
/// long).
Result<std::string> read_secret(const std::string& path);
/// Returns whether STATUS, an HTTP status other than 2xx, is a permanent failure.
bool is_final_status(long status);

}  // namespace quarry::courier
