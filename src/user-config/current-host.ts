// Reads the current state of a virtual host, for work that outlasts the request that started it. Cold path.
import type { CompiledVirtualHost } from './compiled-config.js';
import type { UserConfigs } from './user-configs.js';

/** `gone`: the subject may no longer use it. `unknown`: it cannot be read now. */
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
