// Bodies of requests that are refused for their head. They must cost no memory, however many clients send them, and the connection
// stays usable.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import type { RequestParts } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;
const CONNECTIONS = 60;
const BODY_BYTES = 4 * MIB;
/** Each kind of refusal sends 240 MiB; if bodies were kept, all of them would be in memory at once. */
const GROWTH_BYTES_MAX = 120 * MIB;

t.test('the body of a request that is refused is dropped as it comes', async (t) => {
  const deployment = await startDeployment(t, { workerCount: 1 });
  const caller = await deployment.caller();
  const [pid = 0] = deployment.gateway.workerPids();
  const refusals: Record<number, RequestParts> = {
    401: { token: null },
    403: { headers: [['origin', 'http://evil.example']] },
    404: { path: '/gw-rs/servers/unknown/mcp' },
    405: { method: 'POSTS' },
    406: { accept: 'text/html' },
  };
  await caller.initialize();
  const bytesBefore = residentBytes(pid);
  const half = Buffer.alloc(BODY_BYTES / 2, 32);
  const connections: RawConnection[] = [];
  t.teardown(() => connections.forEach((connection) => connection.close()));
  for (const [status, parts] of Object.entries(refusals)) {
    const { headers, ...request } = caller.request(parts);
    const length = ['content-length', String(BODY_BYTES)] as const;
    const head = encodeRequest(caller.origin, { ...request, headers: [...headers, length], body: '' });
    const opened = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawConnection.open(caller.origin)));
    connections.push(...opened);
    for (const connection of opened) connection.write(head);
    for (const connection of opened) t.equal((await connection.readAnswer()).status, Number(status));
    for (const connection of opened) connection.write(half);
    await until(() => opened.every(({ unsentBytes }) => unsentBytes === 0), 'half of every body to be sent');
    t.ok(residentBytes(pid) - bytesBefore < GROWTH_BYTES_MAX, `${status}: flat with the bodies half there`);
    for (const connection of opened) connection.write(half);
    const ping = encodeRequest(caller.origin, { method: 'GET', path: '/gw-rs/health', headers: [] });
    for (const connection of opened) connection.write(ping);
    for (const connection of opened) t.equal((await connection.readAnswer()).text, '{"status":"healthy"}');
  }
});

/** Resident memory. Linux only. */
function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}
