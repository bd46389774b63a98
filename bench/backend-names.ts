// The backends of every scenario, by the names that the gateway's user configs give them.

/** The backends that are called, in a process of their own. */
export const calledBackendNames = ['alpha', 'beta'] as const;

/** The backends that are only listed, in another process, so that their long responses do not delay calls. */
export const listedBackendNames = [
  'many0',
  'many1',
  'many2',
  'many3',
  'many4',
  'many5',
  'many6',
  'many7',
  'many8',
  'many9',
] as const;

export const backendNames = [...calledBackendNames, ...listedBackendNames] as const;

export type BackendName = (typeof backendNames)[number];
