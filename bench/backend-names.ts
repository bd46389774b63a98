// The backends of every scenario, by the names that the gateway's user configs give them.
export const backendNames = ['alpha', 'beta'] as const;

export type BackendName = (typeof backendNames)[number];
