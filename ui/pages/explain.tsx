// Why a subject has a tool or not, what became of a request, and who has sessions: the same answers as `switchyard explain`. The question
// is part of the address.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Composition } from '../api/types.js';
import { ExplainedTool } from './explain/explained-tool.js';
import { Sessions } from './explain/sessions.js';
import { ToldRequests } from './explain/told-requests.js';

export function ExplainPage(): JSX.Element {
  const [params, setParams] = useSearchParams();
  const ask = (asked: Readonly<Record<string, string>>): void =>
    setParams(Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== '')));
  const request = params.get('request') ?? '';
  const virtualHost = params.get('virtualHost') ?? '';
  return (
    <>
      <div class="heading">
        <div>
          <h1>Explain</h1>
          <p class="note">Why somebody has a tool or not, and what became of a request.</p>
        </div>
      </div>
      <section class="card" aria-labelledby="tool">
        <h2 id="tool">Access to a tool</h2>
        <ToolForm
          known={{ virtualHost, subject: params.get('subject') ?? '', tool: params.get('tool') ?? '' }}
          onAsk={ask}
        />
        {virtualHost !== '' && (
          <ExplainedTool
            key={params.toString()}
            {...{ virtualHost, subject: params.get('subject') ?? '', tool: params.get('tool') ?? '' }}
          />
        )}
      </section>
      <section class="card" aria-labelledby="request">
        <h2 id="request">Request</h2>
        <RequestForm known={request} onAsk={(id) => ask({ request: id })} />
        {request !== '' && <ToldRequests key={request} requestId={request} />}
      </section>
      <Sessions />
    </>
  );
}

interface ToolQuestion {
  readonly virtualHost: string;
  /** `''`: the user's own. */
  readonly subject: string;
  readonly tool: string;
}

interface ToolFormProps {
  readonly known: ToolQuestion;
  readonly onAsk: (asked: Readonly<Record<string, string>>) => void;
}

const OTHER = 'another';
const SUGGESTED_MAX = 200;

function ToolForm({ known, onAsk }: ToolFormProps): JSX.Element {
  const compositions = useQuery('compositions', () => askAll<Composition>('/compositions')).value ?? [];
  const [asked, setAsked] = useState(known);
  const [isOther, setOther] = useState(false);
  const isAdmin = useCaller()?.role === 'admin';
  const isListed = compositions.some(({ id }) => id === asked.virtualHost);
  const isTyped = isOther || (asked.virtualHost !== '' && !isListed);
  const change = (part: Partial<ToolQuestion>): void => setAsked({ ...asked, ...part });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAsk({ ...asked });
      }}
    >
      <datalist id="subjects">
        {[...new Set(compositions.flatMap(({ subjects }) => subjects))].slice(0, SUGGESTED_MAX).map((subject) => (
          <option key={subject} value={subject} />
        ))}
      </datalist>
      <div class="filters wide">
        <label>
          Composition
          <select
            required
            value={isTyped ? OTHER : asked.virtualHost}
            onChange={({ currentTarget: { value } }) => {
              setOther(value === OTHER);
              change({ virtualHost: value === OTHER ? '' : value });
            }}
          >
            <option value="">Select …</option>
            {compositions.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
            <option value={OTHER}>Another, by its id</option>
          </select>
        </label>
        {isTyped && (
          <label>
            Virtual host
            <input
              required
              spellcheck={false}
              value={asked.virtualHost}
              onInput={(event) => change({ virtualHost: event.currentTarget.value })}
            />
          </label>
        )}
        <label>
          Tool
          <input
            spellcheck={false}
            value={asked.tool}
            placeholder="all tools"
            onInput={(event) => change({ tool: event.currentTarget.value })}
          />
        </label>
        {isAdmin && (
          <label>
            User
            <input
              spellcheck={false}
              list="subjects"
              value={asked.subject}
              placeholder="yourself"
              onInput={(event) => change({ subject: event.currentTarget.value })}
            />
          </label>
        )}
        <button type="submit" class="main">
          Explain
        </button>
      </div>
      {!isAdmin && <p class="note">For yourself: only admins may ask about others.</p>}
    </form>
  );
}

interface RequestFormProps {
  readonly known: string;
  readonly onAsk: (id: string) => void;
}

function RequestForm({ known, onAsk }: RequestFormProps): JSX.Element {
  const [id, setId] = useState(known);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(id.trim());
      }}
    >
      <div class="filters wide">
        <label>
          Request id
          <input
            type="text"
            required
            spellcheck={false}
            autocomplete="off"
            value={id}
            aria-describedby="request-help"
            onInput={(event) => setId(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Look up</button>
      </div>
      <p id="request-help" class="note">
        The x-request-id header of a response has it, and so does the log.
      </p>
    </form>
  );
}
