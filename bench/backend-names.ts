// The backends of every scenario, by the names that the gateway's user configs give them.

/** Those that are called, in a process of their own. */
export const calledBackendNames = ['alpha', 'beta'] as const;

/** Those that are only listed, in another process: their long answers must not keep calls waiting. */
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
