// What the quick start registers at the control plane: the demo backends, and a composition of three of their tools.

export interface DemoRegistry {
  /** The id of the composition, the same in every run on one store. */
  readonly compositionId: string;
}

const COMPOSITION = {
  name: 'desk',
  description: 'Three tools of two servers.',
  servers: [
    { name: 'calculator', tools: ['add', 'now'] },
    { name: 'wordsmith', tools: ['reverse'] },
  ],
};

/** @param backendUrls the MCP endpoints by server name. */
export async function fillRegistry(
  controlPlaneUrl: string,
  token: string,
  backendUrls: Readonly<Record<string, string>>,
): Promise<DemoRegistry> {
  for (const [name, url] of Object.entries(backendUrls)) {
    await put(`${controlPlaneUrl}/servers`, token, { name, url, description: 'A demo backend.', tags: ['demo'] });
  }
  const { id } = (await put(`${controlPlaneUrl}/compositions`, token, COMPOSITION)) as { id: string };
  return { compositionId: id };
}

interface NamedThing {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Creates a resource of the collection, or updates it when an earlier run has left it there. */
async function put(collection: string, token: string, thing: NamedThing): Promise<unknown> {
  const created = await send('POST', collection, token, thing);
  const response = created.status === 409 ? await send('PUT', `${collection}/${thing.name}`, token, thing) : created;
  if (!response.ok) throw new Error(`the control plane refused ${thing.name}: ${await response.text()}`);
  return response.json();
}

function send(method: string, url: string, token: string, body: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return fetch(url, { method, headers, body: JSON.stringify(body) });
}
