// Limits: what a worker knows about reaching backends, and when it tries them again.

export const reachLimits = {} as const;
