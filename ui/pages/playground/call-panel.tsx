// One tool, prompt or resource: its form or the same value as JSON, and the outcome of the last request.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { McpSession } from '../../api/mcp.js';
import { blankEntries, entriesOf, valueOf, type FieldFaults } from '../../model/form-values.js';
import { requestFor, type Offer, type OfferKind } from '../../model/offers.js';
import { formOf, type FormField, type JsonObject } from '../../model/schema-form.js';
import { Fault } from '../../parts/notices.js';
import { LongSaid, Said } from '../../parts/said.js';
import { SchemaForm } from '../../parts/schema-form.js';
import type { Call } from './history.js';
import { Run } from './run.js';
import { RunView } from './run-view.js';

interface CallPanelProps {
  readonly session: McpSession;
  readonly kind: OfferKind;
  readonly offer: Offer;
  /** A former call, which is shown with its arguments. */
  readonly call: Call | undefined;
  /** A new call is made. */
  readonly onRun: (value: JsonObject, run: Run) => void;
}

const NO_FAULTS: FieldFaults = new Map();
const ACTIONS = { tools: 'Call the tool', prompts: 'Get the prompt', resources: 'Read the resource' } as const;

export function CallPanel({ session, kind, offer, call, onRun }: CallPanelProps): JSX.Element {
  const fields = useMemo(() => formOf(offer.schema), [offer]);
  const [entries, setEntries] = useState(() => (call ? entriesOf(fields, call.value) : blankEntries(fields)));
  // The form would lose what it has no field for.
  const [text, setText] = useState(() => (call && !isShownBy(fields, call.value) ? textOf(call.value) : undefined));
  const [faults, setFaults] = useState(NO_FAULTS);
  const [textFault, setTextFault] = useState('');
  const [run, setRun] = useState(call?.run);
  const isJson = text !== undefined;
  const send = (value: JsonObject): void => {
    const { method, params } = requestFor(kind, offer, value);
    const next = new Run(session, method, params);
    setRun(next);
    onRun(value, next);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const said = isJson ? objectIn(text) : valueOf(fields, entries);
    setTextFault(typeof said === 'string' ? said : '');
    if (typeof said === 'string') return;
    setFaults(said.faults);
    if (said.faults.size === 0) send(said.value);
  };
  const showForm = (): void => {
    const said = objectIn(text ?? '{}');
    setTextFault(typeof said === 'string' ? said : '');
    if (typeof said === 'string') return;
    setEntries(entriesOf(fields, said.value));
    setText(undefined);
  };
  return (
    <>
      <section class="card" aria-labelledby="offer">
        <h2 id="offer">
          <Said text={offer.name} max={128} />
        </h2>
        <LongSaid text={offer.description} />
        <form onSubmit={submit} aria-label="Arguments" noValidate>
          <div class="segments" role="group" aria-label="Form or JSON">
            <button type="button" aria-pressed={!isJson} onClick={showForm} disabled={!isJson}>
              Form
            </button>
            <button
              type="button"
              aria-pressed={isJson}
              disabled={isJson}
              onClick={() => setText(textOf(valueOf(fields, entries).value))}
            >
              JSON
            </button>
          </div>
          {isJson ? (
            <div class="field">
              <label for="arguments">Arguments as JSON</label>
              <textarea id="arguments" rows={8} value={text} onInput={(event) => setText(event.currentTarget.value)} />
            </div>
          ) : fields.length === 0 ? (
            <p class="note">It has no arguments.</p>
          ) : (
            <SchemaForm {...{ fields, entries, faults }} onChange={setEntries} />
          )}
          <Fault words={textFault} />
          {faults.size > 0 && <Fault words={`Please check: ${[...faults.keys()].join(', ').slice(0, 300)}`} />}
          <div class="actions">
            <button class="main" disabled={run?.state.value === 'underway'}>
              {ACTIONS[kind]}
            </button>
          </div>
        </form>
      </section>
      {run !== undefined && <RunView run={run} />}
    </>
  );
}

function textOf(value: JsonObject): string {
  return JSON.stringify(value, null, 2);
}

/** Whether the form shows all of the value. */
function isShownBy(fields: readonly FormField[], value: JsonObject): boolean {
  const sorted = (each: JsonObject): string => JSON.stringify(Object.entries(each).sort());
  return sorted(valueOf(fields, entriesOf(fields, value)).value) === sorted(value);
}

/** @returns the object, or in words why the text is none. */
function objectIn(text: string): { readonly value: JsonObject; readonly faults: FieldFaults } | string {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { value: value as JsonObject, faults: NO_FAULTS };
    }
    return 'The arguments must be a JSON object';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
