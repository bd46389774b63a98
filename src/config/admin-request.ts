// What a command asks of a running dataplane's admin listener, read from the command line and the environment.
import { deepFreeze } from './values.js';
import {
  adminRequestOptionTable,
  explainOptionTable,
  sessionsOptionTable,
  topOptionTable,
} from './cli-option-table.js';
import type { CommandWords } from './command.js';
import type { ListenAddress } from './dataplane-options.js';
import { OptionReader } from './option-reader.js';

export type AdminCommandName = 'sessions' | 'explain' | 'log-level' | 'top';

export type AdminAction =
  | { readonly command: 'sessions'; readonly subject: string | undefined }
  | { readonly command: 'log-level'; readonly level: string }
  /** Repeated at this interval. */
  | { readonly command: 'top'; readonly intervalMs: number }
  /** Explains one request, by its id, or one session, by its hash. */
  | { readonly command: 'explain id'; readonly id: string }
  | {
      readonly command: 'explain';
      readonly subject: string;
      readonly virtualHost: string;
      readonly tool: string | undefined;
    };

export interface AdminRequest {
  readonly address: ListenAddress;
  readonly isJson: boolean;
  readonly action: AdminAction;
}

/** @throws {OptionFaults} with every fault. */
export function loadAdminRequest(
  words: CommandWords<AdminCommandName>,
  environment: NodeJS.ProcessEnv = process.env,
): AdminRequest {
  return deepFreeze(read(words, environment));
}

function read(words: CommandWords<AdminCommandName>, environment: NodeJS.ProcessEnv): AdminRequest {
  const [first] = words.operands;
  switch (words.command) {
    case 'sessions': {
      const values = new OptionReader(sessionsOptionTable, words, environment).finish();
      return { ...asked(values), action: { command: 'sessions', subject: values.subject } };
    }
    case 'log-level': {
      const values = new OptionReader(adminRequestOptionTable, words, environment).finish();
      return { ...asked(values), action: { command: 'log-level', level: first ?? '' } };
    }
    case 'top': {
      const values = new OptionReader(topOptionTable, words, environment).finish();
      return { ...asked(values), action: { command: 'top', intervalMs: values.interval } };
    }
    case 'explain': {
      const reader = new OptionReader(explainOptionTable, words, environment);
      if (first === undefined) {
        for (const name of ['subject', 'virtual-host'] as const) {
          if (!reader.isGiven(name))
            reader.fault(name, 'is required, unless the id of a request or a session is given');
        }
      }
      const values = reader.finish();
      if (first !== undefined) return { ...asked(values), action: { command: 'explain id', id: first } };
      const { subject = '', 'virtual-host': virtualHost = '', tool } = values;
      return { ...asked(values), action: { command: 'explain', subject, virtualHost, tool } };
    }
  }
}

function asked(values: {
  readonly 'admin-address': ListenAddress;
  readonly json: boolean;
}): Omit<AdminRequest, 'action'> {
  return { address: values['admin-address'], isJson: values.json };
}
