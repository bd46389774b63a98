// Asks before servers are deleted, and says which compositions lose tools by it.
import type { JSX } from 'preact';
import { askAll } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Composition, Server } from '../../api/types.js';
import { counted } from '../../model/counted.js';
import { subjectWords } from '../../model/subject-words.js';
import { Confirmation } from '../../parts/confirmation.js';
import { Loaded } from '../../parts/notices.js';

interface RemovalProps {
  readonly servers: readonly Server[];
  readonly onAnswer: (isMeant: boolean) => void;
}

const SHOWN_MAX = 20;

export function RemovalQuestion({ servers, onAnswer }: RemovalProps): JSX.Element {
  const compositions = useQuery('compositions', () => askAll<Composition>('/compositions'));
  const names = new Set(servers.map(({ name }) => name));
  const [first] = servers;
  const what = servers.length === 1 ? (first?.name ?? '') : counted(servers.length, 'servers');
  return (
    <Confirmation title={`Delete ${what}?`} action="Delete" onAnswer={onAnswer}>
      {servers.length > 1 && (
        <p>
          {[...names].slice(0, SHOWN_MAX).join(', ')}
          {names.size > SHOWN_MAX && ` and ${names.size - SHOWN_MAX} more`}
        </p>
      )}
      <Loaded query={compositions}>
        {(all) => {
          const using = all.filter((composition) => composition.servers.some(({ name }) => names.has(name)));
          if (using.length === 0) return <p>No composition uses {servers.length === 1 ? 'it' : 'them'}.</p>;
          return (
            <>
              <p>These compositions lose tools until a server is registered again under the same name:</p>
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
