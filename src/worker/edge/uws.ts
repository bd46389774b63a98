// The one door to uWebSockets.js. The package is a native binary that fits certain Node.js versions only, and is not in
// the npm registry under its own name: when it does not load, this says why, and exactly what to do.

import { createRequire } from 'node:module';
import type * as uWebSockets from 'uWebSockets.js';
import type { HttpLibrary } from './http-library.js';

export type Uws = typeof uWebSockets;

const require = createRequire(import.meta.url);

/** A setting that the package's types leave out. Other builds of the library have it in their default export alone. */
interface Configurable {
  _cfg?(setting: 'silent'): void;
  readonly default?: Configurable;
}

/** Of what a loader says about one failure. */
const CAUSE_CHARS_MAX = 300;

/** Loads the library and keeps it from announcing itself in a response header. Rejects with words for a person. */
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
 * A build that can be required is: imported, it names a part of what it has, and it would end the process besides where it does not load. The
 * one that the program comes with can be imported alone.
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
 * The line that says something, as in `GLIBC_2.38 not found`: a loader may say it in the cause of what it throws, or, as the package does,
 * as the last paragraph behind words of its own that are the same for every cause.
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
      return { app, onConnection, listen };
    },
  };
}
