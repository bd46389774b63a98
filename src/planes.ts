// The functions behind the commands `dataplane`, `control-plane` and `token`. Each imports the code that it needs only when it is called.
import { existsSync } from 'node:fs';
import {
  type CommandWords,
  type ControlPlaneOptions,
  dataplaneOptions,
  type DataplaneOptions,
  childEnvironment,
  serviceManager,
  workerEnvironment,
  readRequest,
  describeStart,
  formatAddress,
} from './config/index.js';
import { exitStatus } from './shared/index.js';

export async function runDataplane(options: DataplaneOptions, words: CommandWords): Promise<number> {
  if (options.isCheckOnly) return printStartCheck(words, options, dataplaneListeners(options));
  const { runPrimary } = await import('./primary/run-primary.js');
  const { checkEmbedded } = await import('./store/check-embedded.js');
  const { chooseListener } = await import('./edge/choose-listener.js');
  const { findLauncher } = await import('./primary/slot.js');
  return runPrimary(options, {
    readOptions: () => readRequest({ options: dataplaneOptions }, words),
    isOnTerminal: isOnTerminal(),
    workerModule: new URL('./worker/main.js', import.meta.url),
    launcher: findLauncher(),
    bootstrapModule: findBootstrapModule(),
    workerEnvironment: workerEnvironment(),
    checkStore: async (store) => {
      if (store.kind === 'embedded') await checkEmbedded(store.path);
    },
    serviceManager: serviceManager(),
    chooseListener,
  });
}

export async function runControlPlane(options: ControlPlaneOptions, words: CommandWords): Promise<number> {
  if (options.isCheckOnly) return printStartCheck(words, options, { HTTP: formatAddress(options.address) });
  const controlPlane = await import('./control-plane/run-control-plane.js');
  return controlPlane.runControlPlane(options, {
    isOnTerminal: isOnTerminal(),
    serviceManager: serviceManager(),
    childEnvironment: childEnvironment(),
  });
}

function isOnTerminal(): boolean {
  return process.stdin.isTTY || process.stdout.isTTY;
}

async function printStartCheck(
  words: CommandWords,
  options: Pick<DataplaneOptions, 'store' | 'token'>,
  listeners: Readonly<Record<string, string>>,
): Promise<number> {
  const { embeddedObstacle } = await import('./store/check-embedded.js');
  const { store } = options;
  const obstacle = store.kind === 'embedded' ? embeddedObstacle(store.path) : undefined;
  if (obstacle !== undefined) {
    process.stderr.write(`switchyard: the ${words.command} would not start: ${obstacle}\n`);
    return exitStatus.cannotCreate;
  }
  process.stdout.write(describeStart(words, options, listeners));
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

/** The URL of the bootstrap feature's module; `undefined` if the build leaves it out. No other code refers to that file. */
function findBootstrapModule(): string | undefined {
  const module = new URL('./bootstrap/bootstrap.js', import.meta.url);
  return existsSync(module) ? module.href : undefined;
}

interface TokenRequest {
  readonly subject: string;
  readonly expiresInMs: number;
  readonly token: Pick<DataplaneOptions['token'], 'privateKey' | 'issuers' | 'audience'>;
}

export async function mintToken({ token, subject, expiresInMs }: TokenRequest): Promise<number> {
  const { TokenMinter } = await import('./auth/token-minter.js');
  const minter = TokenMinter.create(token);
  if (minter === undefined) throw new Error('the token command got no private key, which its options require');
  process.stdout.write(`${await minter.mint(subject, expiresInMs)}\n`);
  return 0;
}
