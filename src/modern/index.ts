export { SuspendedCalls, type SuspendedCallsOptions } from './suspended-calls.js';
export { type LeaseOwners, Leases } from './leases.js';
export { ListenRequests } from './listen-requests.js';
export { ModernHandler } from './modern-handler.js';
export { httpStatusOf } from './modern-results.js';
export { versionIn } from './modern-rules.js';
