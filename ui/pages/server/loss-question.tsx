// Asks before servers are deleted or disabled, and says which compositions lose tools by it.
import type { JSX } from 'preact';
import { askAll } from '../../api/api.js';
import type { Composition, Server } from '../../api/types.js';
import { counted } from '../../model/counted.js';
import { subjectWords } from '../../model/subject-words.js';
import { Confirmation } from '../../parts/confirmation.js';
import { Loaded } from '../../parts/notices.js';
import { useCompositions } from '../compositions.js';

interface LossProps {
  readonly servers: readonly Server[];
  readonly action: keyof typeof UNTIL;
  readonly onAnswer: (isMeant: boolean) => void;
}

const SHOWN_MAX = 20;
const UNTIL = {
  Delete: 'a server is registered again under the same name',
  Disable: 'it is enabled again',
} as const;

/** Whether a composition would lose tools, as it is now. */
export async function isMissed(servers: readonly Server[]): Promise<boolean> {
  return usersOf(servers, await askAll<Composition>('/compositions')).length > 0;
}

/** The compositions that have something of a server. */
export function usersOf(servers: readonly Server[], all: readonly Composition[]): readonly Composition[] {
  return all.filter((composition) =>
    composition.servers.some((each) => servers.some(({ name }) => name === each.name)),
  );
}

export function LossQuestion({ servers, action, onAnswer }: LossProps): JSX.Element {
  const compositions = useCompositions();
  const [first] = servers;
  const what = servers.length === 1 ? (first?.name ?? '') : counted(servers.length, 'servers');
  return (
    <Confirmation title={`${action} ${what}?`} action={action} onAnswer={onAnswer}>
      {servers.length > 1 && (
        <p>
          {servers
            .slice(0, SHOWN_MAX)
            .map(({ name }) => name)
            .join(', ')}
          {servers.length > SHOWN_MAX && ` and ${servers.length - SHOWN_MAX} more`}
        </p>
      )}
      <Loaded query={compositions}>
        {(all) => {
          const using = usersOf(servers, all);
          if (using.length === 0) return <p>No composition uses {servers.length === 1 ? 'it' : 'them'}.</p>;
          return (
            <>
              <p>These compositions lose tools until {UNTIL[action]}:</p>
              <ul>
                {using.map(({ id, name, subjects }) => (
                  <li key={id}>
                    {name}, {subjectWords(subjects.length)}
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Loaded>
    </Confirmation>
  );
}
