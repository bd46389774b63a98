// One action on many servers: a few at a time, with the result of each, also where some are refused.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask } from '../../api/api.js';
import type { RefreshReport, Server } from '../../api/types.js';
import { counted } from '../../model/counted.js';
import { refreshWords } from '../../model/refresh-words.js';
import { Icon, type IconName } from '../../parts/icon.js';
import { OutcomeList, outcomeCounts, runAll, type Outcome } from '../../parts/outcomes.js';
import type { Selection } from '../../parts/selection.js';
import { isMissed, LossQuestion } from '../server/loss-question.js';

const ACTIONS = ['refresh', 'enable', 'disable', 'delete'] as const;
type Action = (typeof ACTIONS)[number];

const LOOKS = {
  refresh: ['Refresh', 'refresh'],
  enable: ['Enable', 'enable'],
  disable: ['Disable', 'disable'],
  delete: ['Delete', 'remove'],
} as const satisfies Record<Action, readonly [string, IconName]>;

interface BulkProps {
  readonly servers: readonly Server[];
  readonly selection: Selection;
  readonly reload: () => Promise<void>;
}

interface Report {
  readonly action: Action;
  readonly outcomes: readonly Outcome[];
}

export function BulkActions({ servers, selection, reload }: BulkProps): JSX.Element | null {
  const [report, setReport] = useState<Report>();
  const [asked, setAsked] = useState<'delete' | 'disable'>();
  const chosen = servers.filter(({ id }) => selection.value.has(id));
  const isBusy = report !== undefined && outcomeCounts(report.outcomes).open > 0;
  const run = async (action: Action): Promise<void> => {
    const items = chosen.map((server) => ({ key: server.id, name: server.name, act: () => doTo(server, action) }));
    await runAll(items, (outcomes) => setReport({ action, outcomes }));
    selection.value = new Set();
    await reload();
  };
  const start = async (action: Action): Promise<void> => {
    const isLoss = action === 'delete' || (action === 'disable' && (await isMissed(chosen).catch(() => true)));
    if (isLoss) setAsked(action);
    else await run(action);
  };
  return (
    <>
      {report !== undefined && <BulkReport report={report} onClose={isBusy ? undefined : () => setReport(undefined)} />}
      {chosen.length > 0 && !isBusy && (
        <div class="bar" role="group" aria-label="Selected servers">
          <div class="actions">
            <span class="told" role="status">
              {counted(chosen.length, 'servers')} selected
            </span>
            {ACTIONS.map((action) => (
              <button
                key={action}
                type="button"
                class={action === 'delete' ? 'danger' : undefined}
                onClick={() => void start(action)}
              >
                <Icon name={LOOKS[action][1]} />
                {LOOKS[action][0]}
              </button>
            ))}
            <button type="button" class="quiet" onClick={() => (selection.value = new Set())}>
              Clear
            </button>
          </div>
        </div>
      )}
      {asked !== undefined && (
        <LossQuestion
          servers={chosen}
          action={asked === 'delete' ? 'Delete' : 'Disable'}
          onAnswer={(isMeant) => {
            setAsked(undefined);
            if (isMeant) void run(asked);
          }}
        />
      )}
    </>
  );
}

/** @returns what became of it, in words; throws an `ApiFault` in words when it was refused. */
async function doTo({ id, enabled }: Server, action: Action): Promise<string> {
  const path = `/servers/${id}`;
  if (action === 'delete') {
    await ask(path, { method: 'DELETE' });
    return 'deleted';
  }
  if (action === 'refresh') {
    const { value } = await ask<RefreshReport>(`${path}/refresh`, { method: 'POST' });
    if (value.error !== undefined) throw new Error(refreshWords(value));
    return refreshWords(value);
  }
  const isWanted = action === 'enable';
  if (enabled === isWanted) return isWanted ? 'was enabled already' : 'was disabled already';
  await ask(path, { method: 'PATCH', body: { enabled: isWanted } });
  return isWanted ? 'enabled' : 'disabled';
}

function BulkReport({
  report: { action, outcomes },
  onClose,
}: {
  readonly report: Report;
  readonly onClose: (() => void) | undefined;
}): JSX.Element {
  const { done, failed, open } = outcomeCounts(outcomes);
  const told = [`${done} done`, failed > 0 && `${failed} not`, open > 0 && `${open} to go`].filter(Boolean).join(', ');
  return (
    <section class="bar report" aria-labelledby="report">
      <div class="top">
        <div role="status">
          <h2 id="report">
            {LOOKS[action][0]}: {told}
          </h2>
        </div>
        {onClose !== undefined && (
          <button type="button" onClick={onClose}>
            Close
          </button>
        )}
      </div>
      <OutcomeList
        outcomes={outcomes}
        linkOf={({ key, name }) => (action === 'delete' ? <>{name}</> : <Link href={`/servers/${key}`}>{name}</Link>)}
      />
    </section>
  );
}
