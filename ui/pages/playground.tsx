// The playground: tries any tool, prompt or resource as the signed-in user. The selected item is part of the address.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import { askAll, faultWords } from '../api/api.js';
import { McpSession } from '../api/mcp.js';
import { useQuery } from '../api/query.js';
import { subject } from '../api/session.js';
import type { Composition, Server } from '../api/types.js';
import { pageOf, placeOf, targetsOf, type Target } from '../model/targets.js';
import { Fault, Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Offers } from './playground/offers.js';

export function PlaygroundPage(): JSX.Element {
  const known = useQuery('targets', async () => {
    const [servers, compositions] = await Promise.all([
      askAll<Server>('/servers'),
      askAll<Composition>('/compositions'),
    ]);
    return targetsOf(servers, compositions, subject.value);
  });
  return (
    <>
      <div class="heading">
        <h1>Playground</h1>
      </div>
      <Loaded query={known}>{(targets) => <Playground targets={targets} />}</Loaded>
    </>
  );
}

function Playground({ targets }: { readonly targets: readonly Target[] }): JSX.Element {
  const [params, setParams] = useSearchParams();
  const place = placeOf(params);
  const target = targets.find(({ key }) => key === place) ?? targets[0];
  const { session, fault, reopen } = useMcpSession(target?.path ?? '/mcp');
  if (target === undefined) return <></>;
  return (
    <>
      <div class="filters">
        <label>
          Endpoint
          <select
            value={target.key}
            onChange={({ currentTarget: { value } }) => {
              const [kind = '', id = ''] = value.split(':');
              setParams(id === '' ? {} : { [kind]: id });
            }}
          >
            {targets.map(({ key, name }) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      {target.obstacle !== '' && (
        <div class="notice">
          <p>
            <Said text={target.obstacle} max={2_000} />
          </p>
          <Link class="button" href={pageOf(target)}>
            {target.path === '/mcp' ? 'View server' : 'Open composition'}
          </Link>
        </div>
      )}
      {/* Why there is no session is known better than the refusal says. */}
      {target.obstacle === '' && <Fault words={fault} retry={reopen} />}
      {session !== undefined ? (
        <Offers key={target.key} session={session} target={target} reopen={reopen} />
      ) : (
        fault === '' && <p class="note">Opening a session …</p>
      )}
    </>
  );
}

interface OpenSession {
  readonly session: McpSession | undefined;
  readonly fault: string;
  readonly reopen: () => void;
}

/** One session for as long as the page is open; another endpoint gets another session. */
function useMcpSession(path: string): OpenSession {
  const [state, setState] = useState<{
    readonly path: string;
    readonly session?: McpSession;
    readonly fault: string;
  }>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    let opened: McpSession | undefined;
    McpSession.open(path).then(
      (session) => {
        if (!isWanted) return session.close();
        opened = session;
        setState({ path, session, fault: '' });
      },
      (error: unknown) => isWanted && setState({ path, fault: faultWords(error) }),
    );
    return () => {
      isWanted = false;
      opened?.close();
    };
  }, [path, turn]);
  const { session, fault = '' } = state?.path === path ? state : { fault: '' };
  const reopen = (): void => {
    setState(undefined);
    setTurn(turn + 1);
  };
  return { session, fault, reopen };
}
