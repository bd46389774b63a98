export { AccessLog, type RefusalDetails } from './access-log.js';
export { RecentRequests, describeRequest } from './recent-requests.js';
export { RequestWatch, TRACE_FLUSH_MS_MAX, openTracer } from './request-watch.js';
export type { SpanCounts } from './span-exporter.js';
export type { Tracer } from './tracer.js';
