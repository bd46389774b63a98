// The registry of servers: who is registered, under which names, and what their probes found (decisions 3). All state
// is in the record store, so that several control planes may share it; this keeps none but what is under way.
import type { RecordStore } from '../../store/record-store.js';
import type { Logger } from '../../shared/logger.js';
import type { Prober } from '../prober/prober.js';
import type { RefreshReport, ServerInput, ServerRecord, ServerTool } from './server-record.js';

export interface RegistryOptions {
  readonly records: RecordStore;
  readonly prober: Prober;
  readonly logger: Logger;
  /** Between two health checks of one server. */
  readonly healthIntervalMs: number;
}

export declare class Registry {
  constructor(options: RegistryOptions);
  /** Every server, sorted by name. */
  list(): Promise<ServerRecord[]>;
  /** By id, by name in any case, or by slug, in this order. */
  find(reference: string): Promise<ServerRecord | undefined>;
  /** Probes the server and keeps it, active or not. */
  register(input: ServerInput): Promise<ServerRecord>;
  /** Changes what people say of a server; probes it when the URL is another. */
  replace(reference: string, input: ServerInput): Promise<ServerRecord>;
  remove(reference: string): Promise<void>;
  /** Probes now, and sets the status both ways. */
  refresh(reference: string): Promise<RefreshReport>;
  /** The tools last read. */
  tools(reference: string): Promise<ServerTool[]>;
  /** Calls back after something changed that the aggregate or a composition may depend on, in this process. */
  onChange(listener: () => void): void;
  /** Starts the health checks. */
  start(): void;
  /** Ends them, and whatever probe is under way. */
  stop(): Promise<void>;
}
