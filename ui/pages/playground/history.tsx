// The calls of this tab, newest first: each can be seen again, with its arguments, and repeated. They are gone when the tab is
// closed or the user signs out.
import { effect, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { isSignedIn } from '../../api/session.js';
import type { JsonObject } from '../../model/schema-form.js';
import { Said } from '../../parts/said.js';
import { STATE_LOOKS, STATE_WORDS, type Run } from './run.js';

export interface Call {
  readonly id: number;
  /** The playground's address, which names the endpoint and the item. */
  readonly address: string;
  readonly name: string;
  readonly value: JsonObject;
  readonly time: Date;
  readonly run: Run;
}

const CALLS_MAX = 50;
/** Characters of all responses together. */
const TEXT_CHARS_MAX = 10_000_000;

const calls = signal<readonly Call[]>([]);
/** The call whose outcome the page shows. */
const shown = signal<Call | undefined>(undefined);
/** The call that was chosen here, and has been shown since. */
export const reopened = signal<Call | undefined>(undefined);
let lastId = 0;

effect(() => {
  if (isSignedIn.value) return;
  calls.value = [];
  showCall(undefined);
});

export function showCall(call: Call | undefined): void {
  shown.value = reopened.value = call;
}

export function keepCall(address: string, name: string, value: JsonObject, run: Run): void {
  const call = { id: ++lastId, address, name, value, time: new Date(), run };
  let chars = 0;
  const isKept = ({ run: { text } }: Call): boolean => (chars += text.peek().length) <= TEXT_CHARS_MAX;
  calls.value = [call, ...calls.value].slice(0, CALLS_MAX).filter(isKept);
  shown.value = call;
}

export function History({ onChoose }: { readonly onChoose: (call: Call) => void }): JSX.Element | null {
  if (calls.value.length === 0) return null;
  return (
    <section class="card call-history" aria-labelledby="call-history">
      <h2 id="call-history">History</h2>
      <ol class="items" aria-labelledby="call-history">
        {calls.value.map((call) => (
          <Row key={call.id} call={call} onChoose={onChoose} />
        ))}
      </ol>
    </section>
  );
}

function Row({ call, onChoose }: { readonly call: Call; readonly onChoose: (call: Call) => void }): JSX.Element {
  const { state, totalMs } = call.run;
  return (
    <li>
      <button
        type="button"
        class="quiet offer"
        aria-current={shown.value === call ? 'true' : undefined}
        onClick={() => onChoose(call)}
      >
        <span class={`status ${STATE_LOOKS[state.value]}`}>{STATE_WORDS[state.value]}</span>
        <Said text={call.name} max={128} />
        <span class="note">
          {call.time.toLocaleTimeString()}
          {totalMs.value !== undefined && `, ${Math.round(totalMs.value)} ms`}
        </span>
      </button>
    </li>
  );
}
