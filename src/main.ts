#!/usr/bin/env node
// The commands. Reads the options, hands over to the part of the program that was named, and ends with its status. What a
// command is made of is loaded for it alone: most of them are short, and nobody should wait for the others' parts.
import { existsSync } from 'node:fs';
import { loadAdminRequest, type AdminCommandName } from './config/admin-request.js';
import { loadCompletionRequest } from './config/completion-request.js';
import { loadCliRequest, type CliCommandName } from './config/cli-request.js';
import { readCommandLine, type CommandWords } from './config/command-line.js';
import { childEnvironment, serviceManager, workerEnvironment } from './config/environment.js';
import { OptionFaults } from './config/faults.js';
import { loadControlPlaneOptions } from './config/load-control-plane-options.js';
import { loadDataplaneOptions } from './config/load-dataplane-options.js';
import { loadSecretsRequest, type SecretsCommandName } from './config/load-secrets-request.js';
import { loadStoreCopyRequest } from './config/store-copy-request.js';
import { loadTokenRequest } from './config/load-token-request.js';
import { hasKeys } from './config/has-keys.js';
import type { DataplaneOptions } from './config/dataplane-options.js';
import type { OptionTable } from './config/option.js';
import { controlPlaneOptionTable, dataplaneOptionTable } from './config/option-table.js';
import { isCheckAlone, startInWords } from './config/start-check.js';
import { formatAddress } from './process/listen-fault.js';
import { loadUserConfigRequest, type UserConfigCommandName } from './config/user-config-request.js';
import { exitStatus } from './shared/exit-status.js';
import { flushLog } from './shared/logger.js';

async function main(args: readonly string[]): Promise<number> {
  // Asked by a shell, of words that need not be a right command line yet.
  if (args[0] === 'complete' && args[1] === '--') {
    const { printCompletions } = await import('./cli/completion.js');
    printCompletions(args.slice(2));
    return exitStatus.ok;
  }
  const commandLine = readCommandLine(args);
  switch (commandLine.command) {
    case 'answer':
      process.stdout.write(commandLine.text);
      return 0;
    case 'dataplane':
      return runDataplane(commandLine);
    case 'control-plane':
      return runControlPlane(commandLine);
    case 'token':
      return mintToken(commandLine);
    case 'config list':
    case 'config get':
    case 'config put':
    case 'config check':
    case 'config delete':
    case 'config schema':
      return runUserConfigCommand({ ...commandLine, command: commandLine.command });
    case 'store copy': {
      const request = loadStoreCopyRequest(commandLine);
      const { runStoreCopy } = await import('./cli/store-copy.js');
      return runStoreCopy(request);
    }
    case 'completion': {
      const shell = loadCompletionRequest(commandLine);
      const { printCompletionScript } = await import('./cli/completion.js');
      printCompletionScript(shell);
      return exitStatus.ok;
    }
    case 'sessions':
    case 'explain':
    case 'log-level':
    case 'top':
      return runAdminCommand({ ...commandLine, command: commandLine.command });
    case 'secrets set':
    case 'secrets list':
    case 'secrets delete':
    case 'secrets rotate':
      return runSecrets({ ...commandLine, command: commandLine.command });
    default:
      return runCli({ ...commandLine, command: commandLine.command });
  }
}

async function runDataplane(words: CommandWords): Promise<number> {
  const options = loadDataplaneOptions(words);
  if (isCheckAlone(words)) return sayWhatWouldBe(dataplaneOptionTable, words, options, dataplaneListeners(options));
  const { runPrimary } = await import('./primary/run-primary.js');
  const { checkEmbedded } = await import('./store/check-embedded.js');
  const { chooseListener } = await import('./worker/edge/choose-listener.js');
  return runPrimary(options, {
    readOptions: () => loadDataplaneOptions(words),
    isOnTerminal: process.stdin.isTTY || process.stdout.isTTY,
    workerModule: new URL('./worker/main.js', import.meta.url),
    bootstrapModule: findBootstrapModule(),
    workerEnvironment: workerEnvironment(),
    checkStore: async (store) => {
      if (store.kind === 'embedded') await checkEmbedded(store.path);
    },
    serviceManager: serviceManager(),
    chooseListener,
  });
}

async function runControlPlane(words: CommandWords): Promise<number> {
  const options = loadControlPlaneOptions(words);
  if (isCheckAlone(words)) {
    return sayWhatWouldBe(controlPlaneOptionTable, words, options, { HTTP: formatAddress(options.address) });
  }
  const controlPlane = await import('./control-plane/run-control-plane.js');
  return controlPlane.runControlPlane(options, {
    serviceManager: serviceManager(),
    childEnvironment: childEnvironment(),
  });
}

function sayWhatWouldBe(
  table: OptionTable,
  words: CommandWords,
  { store, token }: Pick<DataplaneOptions, 'store' | 'token'>,
  listeners: Readonly<Record<string, string>>,
): number {
  process.stdout.write(startInWords(table, words, { store, listeners, hasKeys: hasKeys(token) }));
  return exitStatus.ok;
}

function dataplaneListeners({ address, tls, adminAddress, workerCount }: DataplaneOptions): Record<string, string> {
  return {
    MCP: formatAddress(address),
    ...(tls && { 'MCP over TLS': formatAddress(tls.address) }),
    ...(adminAddress && { operators: formatAddress(adminAddress) }),
    workers: String(workerCount),
  };
}

async function runCli(words: CommandWords & { readonly command: CliCommandName }): Promise<number> {
  const request = loadCliRequest(words);
  const cli = await import('./cli/run-cli.js');
  return cli.runCli(request);
}

async function runUserConfigCommand(
  words: CommandWords & { readonly command: UserConfigCommandName },
): Promise<number> {
  const request = loadUserConfigRequest(words);
  const cli = await import('./cli/user-configs.js');
  return cli.runUserConfigCommand(request);
}

async function runAdminCommand(words: CommandWords & { readonly command: AdminCommandName }): Promise<number> {
  const request = loadAdminRequest(words);
  const cli = await import('./cli/admin-commands.js');
  return cli.runAdminCommand(request);
}

async function runSecrets(words: CommandWords & { readonly command: SecretsCommandName }): Promise<number> {
  const request = loadSecretsRequest(words);
  const secrets = await import('./secrets/run-secrets.js');
  return secrets.runSecrets(request);
}

/** Whether the feature is there is decided by the build: nothing refers to it but this look at the disk. */
function findBootstrapModule(): string | undefined {
  const module = new URL('./bootstrap/bootstrap.js', import.meta.url);
  return existsSync(module) ? module.href : undefined;
}

async function mintToken(words: CommandWords): Promise<number> {
  const { TokenMinter } = await import('./auth/token-minter.js');
  const { token, subject, expiresInMs } = loadTokenRequest(words);
  const minter = TokenMinter.create(token);
  if (minter === undefined) throw new Error('the token command got no private key, which its options require');
  process.stdout.write(`${await minter.mint(subject, expiresInMs)}\n`);
  return 0;
}

/** One line for a person; the first frame tells whoever mends the program where to look. */
function fail(error: unknown): never {
  if (error instanceof OptionFaults) {
    process.stderr.write(`switchyard: ${error.message}\n`);
    process.exit(exitStatus.usage);
  }
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const frame = /^ +(at .*)$/m.exec(stack)?.[1] ?? '';
  process.stderr.write(`switchyard: internal error: ${message.replaceAll('\n', ' ')} ${frame}\n`);
  process.exit(exitStatus.software);
}

process.on('uncaughtException', fail);
// A handle that was left open must not keep a gateway alive that has drained.
const status = await main(process.argv.slice(2)).catch(fail);
await flushLog();
process.exit(status);
