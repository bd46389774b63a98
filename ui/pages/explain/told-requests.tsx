// What became of a request, found by the id in its response.
import type { JSX } from 'preact';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { ToldRequest } from '../../api/view-types.js';
import { verdictParts } from '../../model/explanation.js';
import { splitWords } from '../../model/time-split.js';
import { Loaded } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { Since } from '../../parts/since.js';
import { useCompositions } from '../compositions.js';

export function ToldRequests({ requestId }: { readonly requestId: string }): JSX.Element {
  const path = `/requests/${encodeURIComponent(requestId)}`;
  const requests = useQuery(path, async () => (await ask<readonly ToldRequest[]>(path)).value);
  return (
    <Loaded query={requests}>
      {(read) => (
        <>
          {read.map((request, index) => (
            <RequestCard key={index} request={request} />
          ))}
        </>
      )}
    </Loaded>
  );
}

const PLACES = { 'control-plane': 'this control plane', dataplane: 'the gateway' } as const;

function RequestCard({ request }: { readonly request: ToldRequest }): JSX.Element {
  const { plane, slot, method, tool, backend, outcome, detail, verdict, status, subject, virtualHost } = request;
  const isComposed = (useCompositions().value ?? []).some(({ id }) => id === virtualHost);
  const rows = [
    ['Outcome', detail === undefined ? outcome : `${outcome}: ${detail}`],
    ...(verdict === undefined ? [] : [['Why, as of now', verdictParts(verdict, isComposed).reason] as const]),
    ['Method', tool === '' ? method : `${method} of ${tool}`],
    ['Server', backend === '' ? 'none, or more than one' : backend],
    ['Status', status === 0 ? 'none: no response was sent' : String(status)],
    ['Took', splitWords(request)],
    ['Answered by', `${PLACES[plane]}${slot === undefined ? '' : `, process ${slot}`}`],
    ['Virtual host', virtualHost],
    ['User, as in the log', subject],
  ] as const;
  return (
    <div class="card" role="group" aria-label="Request">
      <dl>
        {rows.map(([name, words]) => (
          <Row key={name} name={name}>
            <Said text={words} max={1_000} />
          </Row>
        ))}
        <Row name="Ended">
          <Since time={request.endedAt} />
        </Row>
      </dl>
    </div>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: JSX.Element }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
