// Compositions: what people put together from the registry's servers (decisions 3).
import type { Logger } from '../../shared/logger.js';
import type { RecordStore } from '../../store/record-store.js';
import type { Registry } from '../registry/registry.js';
import type { Composition, CompositionInput } from './composition.js';

export interface CompositionsOptions {
  readonly records: RecordStore;
  readonly registry: Registry;
  readonly logger: Logger;
  /** Between two looks whether everything is published; `limits.publishRepairMs` unless given. */
  readonly repairIntervalMs?: number;
}

/** Methods throw `CompositionFault`s. */
export declare class Compositions {
  constructor(options: CompositionsOptions);
  /** Every composition, sorted by name. */
  list(): Promise<Composition[]>;
  /** By id, else by name in any case. */
  find(reference: string): Promise<Composition | undefined>;
  /** Published to all of its subjects when this resolves. */
  create(input: CompositionInput, callerSubject: string): Promise<Composition>;
  /** What `input` leaves out of description is emptied, of subjects kept. Published when this resolves. */
  replace(reference: string, input: CompositionInput): Promise<Composition>;
  /** Gone from the user configs of all of its subjects when this resolves. */
  remove(reference: string): Promise<void>;
  /** Publishes what is not published, now, after changes of the registry, and from time to time. */
  start(): void;
  /** Ends that; resolved when nothing is under way. */
  stop(): Promise<void>;
}
