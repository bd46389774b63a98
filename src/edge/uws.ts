// The only module that loads uWebSockets.js, a native binary for certain Node.js versions that is not in the npm registry under
// its own name: when it does not load, the error says why and exactly what to do.

import { createRequire } from 'node:module';
import type * as uWebSockets from 'uWebSockets.js';
import type { HttpLibrary, HttpRouter } from './http-library.js';

type Uws = typeof uWebSockets;

const require = createRequire(import.meta.url);

/** A setting that the package's types omit. Some builds of the library have it only on their default export. */
interface Configurable {
  _cfg?(setting: 'silent'): void;
  readonly default?: Configurable;
}

/** How much of one load error's text is reported. */
const CAUSE_CHARS_MAX = 300;

/** Loads the library and stops it from announcing itself in a response header. Rejects with a message for an operator. */
export async function loadUws(): Promise<Uws> {
  try {
    const uws = await findUws();
    const named = uws as Configurable;
    (named._cfg === undefined ? named.default : named)?._cfg?.('silent');
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
 * A build that supports `require` must be loaded that way: `import` would see only part of its exports, and would end the process if
 * the build does not load. The build that the program ships with supports `import` only.
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
 * The informative line of a load error, such as `GLIBC_2.38 not found`: loaders put it into the error's cause or, like this package,
 * into the last paragraph, after text that is the same for every cause.
 */
export function causeInWords(error: unknown): string {
  const words: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 3; one = one.cause, depth++) {
    words.push(
      one.message
        .split('\n\n')
        .at(-1)
        ?.split('\n')[0]
        ?.replace(/^Error: /, '') ?? '',
    );
  }
  const text = words.length > 0 ? words.join(': ') : String(error);
  return text.replace(/\.$/, '').slice(0, CAUSE_CHARS_MAX);
}

export async function loadUwsLibrary(): Promise<HttpLibrary> {
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
