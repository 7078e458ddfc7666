//===- ServerMain.cpp - specs in an editor --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's server knows all that its parser has read, but names inside the short form: it has no way
// to tell it of them. So it runs in a process of its own. This one hands all messages on, reads the
// texts, too, and puts its results into the server's replies to questions about such names.
//
//===----------------------------------------------------------------------===//

#include "polyattn/LanguageServer/ServerMain.h"
#include "Documents.h"
#include "Messages.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "polyattn/Pipelines/Registration.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace polyattn;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kHelp =
    R"(polyattn-lsp-server: specs and tile code in an editor, by the Language Server Protocol

An editor starts it, in Neovim for instance with
  vim.lsp.config('polyattn', { cmd = { 'polyattn-lsp-server' }, filetypes = { 'mlir' } })

It shows messages of the parser and the verifier, types, definitions and uses of names, and completes
names. docs/Editors.md has the settings of other editors.

options:
  --log=info|verbose|error  what is written to standard error (default error)
  --pretty                  write JSON in lines
  --lit-test                for tests: messages between lines `// -----`, and --pretty
  --help-list               all options of MLIR's language server
)";

namespace {
struct ServerOptions {
  Framing framing = Framing::Standard;
  bool pretty = false;
  /// What MLIR's server gets.
  std::vector<char *> rest;
};

/// Our results by the numbers of the requests, until the server's replies come.
class Results {
public:
  void add(const json::Value &id, json::Value result) {
    std::lock_guard lock(mutex);
    results.insert_or_assign(llvm::formatv("{0}", id).str(), std::move(result));
  }
  std::optional<json::Value> take(const json::Value &id) {
    std::lock_guard lock(mutex);
    auto found = results.find(llvm::formatv("{0}", id).str());
    if (found == results.end())
      return std::nullopt;
    json::Value result = std::move(found->second);
    results.erase(found);
    return result;
  }

private:
  std::mutex mutex;
  std::map<std::string, json::Value> results;
};

/// MLIR's server, a process of its own.
struct Server {
  pid_t process;
  std::FILE *input, *output;
};
} // namespace

static ServerOptions readOptions(int argc, char **argv) {
  ServerOptions options;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef option = llvm::StringRef(argv[i]).ltrim('-');
    bool isOption = i > 0 && option != argv[i];
    if (isOption && option == "lit-test") {
      options.framing = Framing::Delimited;
      options.pretty = true;
    } else if (isOption && option == "input-style=delimited") {
      options.framing = Framing::Delimited;
    } else if (isOption && option == "pretty") {
      options.pretty = true;
    } else {
      options.rest.push_back(argv[i]);
    }
  }
  return options;
}

static int runServer(const ServerOptions &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  // Texts of tests are no files.
  if (options.framing == Framing::Delimited)
    llvm::lsp::URIForFile::registerSupportedScheme("test");
  std::vector<char *> arguments = options.rest;
  arguments.push_back(nullptr);
  return failed(mlir::MlirLspServerMain(int(options.rest.size()), arguments.data(), registry));
}

/// Starts a server whose standard input and output are pipes; none where the system refuses.
static std::optional<Server> startServer(const ServerOptions &options) {
  int toServer[2], fromServer[2];
  if (pipe(toServer) != 0 || pipe(fromServer) != 0)
    return std::nullopt;
  pid_t process = fork();
  if (process < 0)
    return std::nullopt;
  if (process == 0) {
    dup2(toServer[0], STDIN_FILENO);
    dup2(fromServer[1], STDOUT_FILENO);
    for (int end : {toServer[0], toServer[1], fromServer[0], fromServer[1]})
      close(end);
    int status = runServer(options);
    llvm::outs().flush();
    _exit(status);
  }
  close(toServer[0]);
  close(fromServer[1]);
  return Server{process, fdopen(toServer[1], "w"), fdopen(fromServer[0], "r")};
}

/// Hands the server's messages on to the editor, with our results in them.
static void handOn(std::FILE *server, Results &results, bool pretty) {
  while (std::optional<std::string> text = readMessage(server, Framing::Standard)) {
    llvm::Expected<json::Value> message = json::parse(*text);
    if (!message) {
      llvm::consumeError(message.takeError());
      continue;
    }
    json::Object *reply = message->getAsObject();
    const json::Value *id = reply && !reply->get("method") ? reply->get("id") : nullptr;
    if (id)
      if (std::optional<json::Value> result = results.take(*id)) {
        reply->erase("error");
        (*reply)["result"] = std::move(*result);
      }
    writeMessage(stdout, llvm::formatv(pretty ? "{0:2}" : "{0}", *message).str());
  }
}

/// Follows the editor until it has nothing more to say.
static void follow(const ServerOptions &options, std::FILE *server, Results &results) {
  Documents documents;
  while (std::optional<std::string> text = readMessage(stdin, options.framing)) {
    llvm::Expected<json::Value> message = json::parse(*text);
    if (!message)
      llvm::consumeError(message.takeError());
    else if (const json::Object *object = message->getAsObject())
      if (std::optional<json::Value> result = documents.receive(*object))
        if (const json::Value *id = object->get("id"))
          results.add(*id, std::move(*result));
    writeMessage(server, *text);
  }
}

int polyattn::languageServerMain(int argc, char **argv) {
  ServerOptions options = readOptions(argc, argv);
  for (char *argument : options.rest) {
    llvm::StringRef option = llvm::StringRef(argument).ltrim('-');
    if (option == "help" || option == "h") {
      llvm::outs() << kHelp;
      return 0;
    }
    if (option.starts_with("help") || option == "version")
      return runServer(options);
  }
  std::optional<Server> server = startServer(options);
  if (!server) {
    llvm::errs() << "polyattn-lsp-server: error: the system starts no process\n";
    return 1;
  }
  // A server that has ended is no reason to end without a status.
  std::signal(SIGPIPE, SIG_IGN);
  Results results;
  std::thread([&] {
    follow(options, server->input, results);
    std::fclose(server->input);
  }).detach();
  // The server ends upon `exit`, or when its input does; an editor may keep ours open.
  handOn(server->output, results, options.pretty);
  int status = 0;
  waitpid(server->process, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
