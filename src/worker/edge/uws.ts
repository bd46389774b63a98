// The one door to uWebSockets.js. The package is a native binary that fits certain Node.js versions only, and is not in
// the npm registry under its own name: when it does not load, this says exactly what to do.

import type * as uWebSockets from 'uWebSockets.js';

export type Uws = typeof uWebSockets;

/** A setting that the package's types leave out. */
interface Configurable {
  _cfg(setting: 'silent'): void;
}

/** Loads the library and keeps it from announcing itself in a response header. Rejects with words for a person. */
export async function loadUws(): Promise<Uws> {
  try {
    const uws = await import('uWebSockets.js');
    (uws as unknown as Configurable)._cfg('silent');
    return uws;
  } catch (cause) {
    throw new Error(
      `uWebSockets.js does not load on Node.js ${process.versions.node} (${process.platform}-${process.arch}). ` +
        'Use Node.js 20 or 22, or install the build of uWebSockets.js for this Node.js under the same name: ' +
        'npm install uWebSockets.js@github:uNetworking/uWebSockets.js#<version>',
      { cause },
    );
  }
}
