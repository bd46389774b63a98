// What stands in place of things that do not exist yet: what they are, and what to do next.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.js';

interface EmptyProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Empty({ icon, title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      {icon !== undefined && <Icon name={icon} />}
      <strong>{title}</strong>
      {children}
    </div>
  );
}
