// A virtual host as the store has it now, for what goes on longer than the request that began it. Cold.
import type { CompiledVirtualHost } from './compiled-config.js';
import type { UserConfigs } from './user-configs.js';

/** `gone`: nobody may use it any more. `unknown`: it cannot be read now. */
export type CurrentHost = CompiledVirtualHost | 'gone' | 'unknown';

/** Never throws or rejects. */
export type ReadHost = (subject: string, virtualHostId: string) => CurrentHost | Promise<CurrentHost>;

export function hostReader(configs: Pick<UserConfigs, 'read'>): ReadHost {
  return (subject, virtualHostId) => {
    const read = configs.read(subject);
    return read instanceof Promise ? read.then((late) => hostIn(late, virtualHostId)) : hostIn(read, virtualHostId);
  };
}

function hostIn(read: Awaited<ReturnType<UserConfigs['read']>>, virtualHostId: string): CurrentHost {
  if (read.kind === 'failed') return 'unknown';
  return (read.kind === 'found' ? read.config.virtualHosts.get(virtualHostId) : undefined) ?? 'gone';
}
