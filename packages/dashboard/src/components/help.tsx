import { useCaller } from '../lib/caller.ts'
import { placesOf } from '../lib/places.ts'
import { Dialog } from './dialog.tsx'

export function Help({ onClose }: { onClose: () => void }) {
  const me = useCaller()
  const keys: [string, string][] = [
    ['Ctrl K', 'Go anywhere, find jobs and executions'],
    ['/', 'Search in this view'],
    ...placesOf(me).map(({ letter, name }): [string, string] => [`g ${letter}`, name]),
    ['?', 'These keys'],
    ['Esc', 'Close'],
  ]
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1.5">
        {keys.map(([key, does]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-sunken px-1.5 font-mono">{key}</kbd>
            </dt>
            <dd className="m-0">{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
