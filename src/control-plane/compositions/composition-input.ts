// Checks what people set on a composition, except whether its servers exist, and removes duplicates from its lists.
import { limits } from '../../shared/index.js';
import { encodeStoreKey } from '../../store/index.js';
import { teamFault } from '../common/principal.js';
import { refuseMember, refuseMemberIf } from '../common/control-plane-fault.js';
import { curationFault } from '../common/curation.js';
import { descriptionFault, nameFault, NOT_UNICODE } from '../common/schema-parts.js';
import type { ComposedServer, CompositionInput } from './composition.js';
import { isPattern } from './tool-patterns.js';

type CheckedComposition = Omit<CompositionInput, 'servers' | 'isForced'> & {
  readonly servers: readonly ComposedServer[];
};

/** A composition's name of this form would be mistaken for the id of another composition. */
const LIKE_AN_ID = /^[0-9a-f]{32}$/i;

/** Throws a `ControlPlaneFault` that names the first faulty member. */
export function checkCompositionInput(input: CompositionInput): CheckedComposition {
  const { name, description, servers, exposure, subjects, team } = input;
  refuseMemberIf('name', nameFault(name));
  if (LIKE_AN_ID.test(name)) refuseMember('name', 'must not be 32 hexadecimal digits, as ids are');
  refuseMemberIf('description', descriptionFault(description));
  refuseMemberIf('team', teamFault(team));
  return {
    name,
    description,
    servers: servers.map((server, index) => checkServer(server, `servers.${index}`)),
    exposure,
    subjects: subjects && checkSubjects(subjects),
    team,
  };
}

function checkServer(server: CompositionInput['servers'][number], member: string): ComposedServer {
  const { name, prompts = [], resources = [], curation } = server;
  const tools = toolsOf(server.tools, `${member}.tools`);
  if (tools.length + prompts.length + resources.length === 0)
    refuseMember(`${member}.tools`, 'must name at least one tool: leave out servers of which you use none');
  checkNames(tools, `${member}.tools`);
  checkPatterns(tools, `${member}.tools`);
  checkNames(prompts, `${member}.prompts`);
  // Taken literally, a pattern would match less than its author expects.
  const pattern = prompts.findIndex(isPattern);
  if (pattern !== -1)
    refuseMember(`${member}.prompts.${pattern}`, 'must be the whole name of one prompt: patterns are not supported');
  // In resources, `*` is no pattern and is allowed, because it has a meaning in URI templates.
  checkNames(resources, `${member}.resources`);
  refuseMemberIf(`${member}.curation`, curation && curationFault(curation));
  return {
    name,
    tools: [...new Set(tools)],
    ...(prompts.length > 0 && { prompts: [...new Set(prompts)] }),
    ...(resources.length > 0 && { resources: [...new Set(resources)] }),
    ...(curation !== undefined && { curation }),
  };
}

function toolsOf(tools: readonly string[] | string, member: string): readonly string[] {
  if (typeof tools !== 'string') return tools;
  if (tools !== '*') refuseMember(member, "must be a list of names and patterns, or '*' for all");
  return ['*'];
}

function checkNames(names: readonly string[], member: string): void {
  for (const [index, each] of names.entries()) {
    if (each === '') refuseMember(`${member}.${index}`, 'must not be empty');
    if (!each.isWellFormed()) refuseMember(`${member}.${index}`, NOT_UNICODE);
  }
}

function checkPatterns(tools: readonly string[], member: string): void {
  const patterns = tools.filter(isPattern);
  if (patterns.length > limits.toolPatternsMax)
    refuseMember(member, `must have at most ${limits.toolPatternsMax} patterns`);
  const long = tools.findIndex((tool) => isPattern(tool) && tool.length > limits.toolPatternCharsMax);
  if (long !== -1) refuseMember(`${member}.${long}`, `must have at most ${limits.toolPatternCharsMax} characters`);
}

function checkSubjects(subjects: readonly string[]): readonly string[] {
  if (subjects.length > limits.compositionSubjectsMax) {
    refuseMember('subjects', `must be at most ${limits.compositionSubjectsMax}`);
  }
  for (const [index, subject] of subjects.entries()) {
    if (encodeStoreKey(subject) === undefined)
      refuseMember(
        `subjects.${index}`,
        `is not a valid subject: it must have 1 to ${limits.storeKeyBytesMax} bytes of UTF-8`,
      );
  }
  return [...new Set(subjects)];
}
