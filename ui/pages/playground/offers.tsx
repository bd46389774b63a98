// What an endpoint offers, by kind: a searchable list from which one item is chosen.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { faultWords } from '../../api/api.js';
import type { McpSession } from '../../api/mcp.js';
import { missingServers, offerKinds, offersOf, type Offer, type OfferKind } from '../../model/offers.js';
import type { JsonObject } from '../../model/schema-form.js';
import type { Target } from '../../model/targets.js';
import { Empty } from '../../parts/empty.js';
import { Fault, Reading } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { CallPanel } from './call-panel.js';
import { History, keepCall, reopened, showCall, type Call } from './history.js';
import type { Run } from './run.js';

interface OffersProps {
  readonly session: McpSession;
  readonly target: Target;
  readonly reopen: () => void;
}

const SHOWN_MAX = 100;

export function Offers({ session, target, reopen }: OffersProps): JSX.Element {
  const [params, setParams] = useSearchParams();
  const kind = offerKinds.find((each) => each === params.get('kind')) ?? 'tools';
  const [offers, setOffers] = useState<readonly Offer[]>();
  const [fault, setFault] = useState('');
  const [missing, setMissing] = useState('');
  const [words, setWords] = useState(params.get('search') ?? '');
  useEffect(() => {
    let isWanted = true;
    setOffers(undefined);
    setFault('');
    setMissing('');
    const missingNow = new Set<string>();
    const onMeta = (meta: unknown): void => {
      for (const server of missingServers(meta, target)) missingNow.add(server);
      if (isWanted) setMissing([...missingNow].join('; '));
    };
    listOf(session, kind, target, onMeta).then(
      (listed) => isWanted && setOffers(listed),
      (error: unknown) => isWanted && setFault(faultWords(error)),
    );
    return () => (isWanted = false);
  }, [session, kind, target.key]);
  const choose = (name: string | undefined, nextKind: OfferKind): void => {
    showCall(undefined);
    setParams((known) => {
      const next = new URLSearchParams(known);
      next.delete('tool');
      next.set('kind', nextKind);
      if (name === undefined) next.delete('name');
      else next.set('name', name);
      return next;
    });
  };
  const showAgain = (call: Call): void => {
    showCall(call);
    setParams(new URLSearchParams(call.address));
  };
  // A link from a server's page has the tool's bare name.
  const bareTool = params.get('tool');
  const chosen = params.get('name') ?? (bareTool === null ? undefined : target.prefix + bareTool);
  const offer = offers?.find(({ name }) => name === chosen);
  const keep = (value: JsonObject, run: Run): void => {
    const address = new URLSearchParams(params);
    address.delete('tool');
    address.set('kind', kind);
    address.set('name', chosen ?? '');
    keepCall(address.toString(), chosen ?? '', value, run);
  };
  const sought = words.toLowerCase().split(/\s+/);
  const found = (offers ?? []).filter(({ name, title }) =>
    sought.every((word) => `${name}\n${title}`.toLowerCase().includes(word)),
  );
  return (
    <div class="playground">
      <div class="card offers">
        <div class="segments" role="group" aria-label="Kind">
          {offerKinds.map((each) => (
            <button key={each} type="button" aria-pressed={each === kind} onClick={() => choose(undefined, each)}>
              {each}
            </button>
          ))}
        </div>
        <label class="inline">
          Search {offers === undefined ? '' : `${offers.length} `}
          {kind}
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <Fault words={fault} retry={reopen} />
        <Fault words={missing === '' ? '' : `Missing here: ${missing}`} retry={reopen} />
        {offers === undefined && fault === '' && <Reading />}
        {offers?.length === 0 && missing === '' && <Empty title={`No ${kind}`}>It offers none to you.</Empty>}
        {offers !== undefined && offers.length > 0 && found.length === 0 && (
          <Empty icon="search" title="No match">
            Search for fewer words.
          </Empty>
        )}
        <ul class="items" aria-label={kind}>
          {found.slice(0, SHOWN_MAX).map(({ name, title, description }) => (
            <li key={name}>
              <button
                type="button"
                class="quiet offer"
                aria-current={name === chosen ? 'true' : undefined}
                onClick={() => choose(name, kind)}
              >
                <Said text={name} max={128} />{' '}
                <span class="note one-line">
                  <Said text={title !== '' ? title : (description ?? '')} max={80} />
                </span>
              </button>
            </li>
          ))}
        </ul>
        {found.length > SHOWN_MAX && <p class="note">{found.length - SHOWN_MAX} more: search to see them.</p>}
      </div>
      <div class="call">
        {offer !== undefined ? (
          <CallPanel
            key={`${kind} ${offer.name} ${reopened.value?.id ?? ''}`}
            {...{ session, kind, offer }}
            call={reopened.value}
            onRun={keep}
          />
        ) : (
          offers !== undefined && <NothingChosen chosen={chosen} />
        )}
      </div>
      <History onChoose={showAgain} />
    </div>
  );
}

function NothingChosen({ chosen }: { readonly chosen: string | undefined }): JSX.Element {
  if (chosen !== undefined) return <Fault words={`${chosen} is not available here (any more)`} />;
  return (
    <div class="card">
      <Empty icon="playground" title="Nothing selected">
        Select something to call. It is called as you, and you see exactly what is sent and answered.
      </Empty>
    </div>
  );
}

async function listOf(
  session: McpSession,
  kind: OfferKind,
  target: Target,
  onMeta: (meta: unknown) => void,
): Promise<readonly Offer[]> {
  if (kind !== 'resources') return offersOf(kind, await session.list(`${kind}/list`, kind, onMeta), target);
  return [
    ...offersOf(kind, await session.list('resources/list', 'resources', onMeta), target),
    ...offersOf(kind, await session.list('resources/templates/list', 'resourceTemplates', onMeta), target),
  ];
}
