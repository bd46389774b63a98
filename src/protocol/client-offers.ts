// What a backend may request of a client, according to the client's `capabilities`. Cold path: once per session whose client is asked.
import type { Buffer } from 'node:buffer';
import { ABSENT, findMember } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

export interface ClientOffers {
  readonly sampling: boolean;
  readonly roots: boolean;
  /** The two modes of elicitation; an empty declaration means forms. */
  readonly elicitationForm: boolean;
  readonly elicitationUrl: boolean;
  /** Whether the client has tasks of its own that can be queried, and cancelled. */
  readonly tasks: boolean;
  readonly tasksCancel: boolean;
}

/** The deepest values read are the modes of `elicitation`. */
const CAPABILITIES_DEPTH = 2;

const scanner = new JsonScanner();

/** @param capabilities an object, as JSON. A capability named twice counts as not offered. */
export function readClientOffers(capabilities: Buffer): ClientOffers {
  scanner.scan(capabilities, CAPABILITIES_DEPTH);
  const has = (node: number, name: string): boolean => objectIn(capabilities, node, name) !== ABSENT;
  const elicitation = objectIn(capabilities, 0, 'elicitation');
  const elicitationUrl = elicitation !== ABSENT && has(elicitation, 'url');
  const tasks = objectIn(capabilities, 0, 'tasks');
  return {
    sampling: has(0, 'sampling'),
    roots: has(0, 'roots'),
    elicitationForm: elicitation !== ABSENT && (has(elicitation, 'form') || !elicitationUrl),
    elicitationUrl,
    tasks: tasks !== ABSENT,
    tasksCancel: tasks !== ABSENT && has(tasks, 'cancel'),
  };
}

function objectIn(capabilities: Buffer, node: number, name: string): number {
  const member = findMember(scanner, capabilities, node, name);
  return member >= 0 && scanner.kind(member) === jsonKind.object ? member : ABSENT;
}
