// The state of a server in a word, with a shape beside the colour.
import type { JSX } from 'preact';
import type { Server } from '../api/types.js';
import { stateOf } from '../model/server-state.js';

export function Status({ server }: { readonly server: Server }): JSX.Element {
  const state = stateOf(server);
  return <span class={`status ${state}`}>{state}</span>;
}
