// Chooses one HTTP library for all workers before any of them starts. The only module that loads uWebSockets.js, a native binary for
// certain versions of Node.js.
import { createRequire } from 'node:module';
import type * as uWebSockets from 'uWebSockets.js';
import type { DataplaneOptions } from '../config/index.js';
import { StartFault } from '../process/index.js';
import { exitStatus } from '../shared/index.js';
import type { HttpLibrary, HttpRouter } from './http-library.js';
import { canReusePort, nodeLibrary } from './node-server.js';

export interface ListenerChoice {
  /** The options with the choice made: `listener` is never `auto`. */
  readonly options: DataplaneOptions;
  readonly warnings: readonly string[];
}

/** Chooses the library. @throws {StartFault} when uWebSockets.js is wanted and does not load. */
export async function chooseListener(options: DataplaneOptions): Promise<ListenerChoice> {
  const obstacle = options.listener === 'node' ? undefined : await obstacleOfUws();
  if (options.listener !== 'node' && obstacle === undefined) {
    return { options: { ...options, listener: 'uws' }, warnings: [] };
  }
  if (options.listener === 'uws') throw new StartFault(exitStatus.unavailable, obstacle!, undefined);
  const warnings = obstacle === undefined ? [] : [`listening with node:http, which is slower: ${obstacle}`];
  const workerCount = canReusePort() ? options.workerCount : 1;
  if (workerCount < options.workerCount) {
    warnings.push(
      `one worker instead of ${options.workerCount}, and no reload: Node.js ${process.versions.node} cannot share a port ` +
        'between processes with node:http, Node.js 22.12 and 24 can',
    );
  }
  return { options: { ...options, listener: 'node', workerCount }, warnings };
}

export async function loadLibrary(listener: DataplaneOptions['listener']): Promise<HttpLibrary> {
  return listener === 'node' ? nodeLibrary : loadUwsLibrary();
}

async function obstacleOfUws(): Promise<string | undefined> {
  try {
    await loadUws();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Uws = typeof uWebSockets;

const require = createRequire(import.meta.url);

/** `_cfg` is missing in the library's types. Some builds have it only on their default export. */
interface Configurable {
  _cfg?(setting: 'silent'): void;
  readonly default?: Configurable;
}

const CAUSE_CHARS_MAX = 300;

/** Loads the library, which then adds no header of its own. Rejects with a message for an operator. */
export async function loadUws(): Promise<Uws> {
  try {
    const uws = await findUws();
    const exports = uws as Configurable;
    (exports._cfg === undefined ? exports.default : exports)?._cfg?.('silent');
    return uws;
  } catch (cause) {
    throw new Error(
      `uWebSockets.js does not load on Node.js ${process.versions.node} (${process.platform}-${process.arch}): ` +
        `${causeInWords(cause)}. Use --listener node or Node.js 20 or 22, or install a build of uWebSockets.js for this ` +
        'Node.js under the same name: npm install uWebSockets.js@github:uNetworking/uWebSockets.js#<version>',
      { cause },
    );
  }
}

/**
 * Loads uWebSockets.js. Builds that support `require` must be loaded with it: `import` finds only some of their exports, and ends the
 * process if one does not load. The build that is shipped with the program supports only `import`.
 */
async function findUws(): Promise<Uws> {
  try {
    return require('uWebSockets.js') as Uws;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')) throw error;
  }
  return import('uWebSockets.js');
}

/**
 * What a load error means, as one line such as `GLIBC_2.38 not found`: it is in the error's cause or, for this package, in the last
 * paragraph of the message.
 */
export function causeInWords(error: unknown): string {
  const lines: string[] = [];
  for (let current = error, depth = 0; current instanceof Error && depth < 3; current = current.cause, depth++) {
    lines.push(
      current.message
        .split('\n\n')
        .at(-1)
        ?.split('\n')[0]
        ?.replace(/^Error: /, '') ?? '',
    );
  }
  const text = lines.length > 0 ? lines.join(': ') : String(error);
  return text.replace(/\.$/, '').slice(0, CAUSE_CHARS_MAX);
}

async function loadUwsLibrary(): Promise<HttpLibrary> {
  const uws = await loadUws();
  return {
    copiesAtOnce: true,
    createListener: (tls) => {
      const app =
        tls === undefined
          ? uws.App()
          : uws.SSLApp({ cert_file_name: tls.certificatePath, key_file_name: tls.privateKeyPath });
      const listen = (host: string, port: number): Promise<(() => void) | undefined> =>
        new Promise((resolve) => {
          app.listen(host, port, (socket) => {
            resolve(socket === false ? undefined : () => uws.us_listen_socket_close(socket));
          });
        });
      const onConnection = (onChange: (change: number) => void): void => {
        app.filter((_, change) => onChange(change));
      };
      const router: HttpRouter = { route: (method, pattern, handler) => void app[method](pattern, handler) };
      return { router, onConnection, listen };
    },
  };
}
