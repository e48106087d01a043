/** Goes anywhere: views, jobs by name or key, executions, runs of graphs and jobs by id. */
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { useCaller } from '../lib/caller.ts'
import { placesOf } from '../lib/places.ts'
import { useAsk } from '../lib/queries.ts'
import { Dialog } from './dialog.tsx'

interface Choice {
  key: string
  name: string
  about: string
  to: string
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, write] = useState('')
  const [at, move] = useState(0)
  const navigate = useNavigate()
  const { choices, searching } = useChoices(text.trim())
  const chosen = Math.min(at, choices.length - 1)
  const go = (choice: Choice | undefined) => {
    if (!choice) return
    onClose()
    void navigate({ to: choice.to })
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        data-focus-first
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant={choices[chosen] && `choice-${chosen}`}
        aria-label="View, job or id"
        placeholder="View, job or id"
        className="w-full rounded-md border border-line bg-panel px-3 py-2"
        value={text}
        onChange={({ target }) => {
          write(target.value)
          move(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(Math.min(chosen + 1, choices.length - 1))
          else if (event.key === 'ArrowUp') move(Math.max(chosen - 1, 0))
          else if (event.key === 'Enter') go(choices[chosen])
          else return
          event.preventDefault()
        }}
      />
      <div id="choices" role="listbox" aria-label="Places" className="mt-2 max-h-80 overflow-y-auto">
        {choices.map((choice, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox
          // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the combobox
          <div
            key={choice.key}
            id={`choice-${i}`}
            role="option"
            aria-selected={i === chosen}
            onClick={() => go(choice)}
            className="flex cursor-pointer justify-between gap-4 rounded-md px-3 py-1.5 aria-selected:bg-accent-soft"
          >
            <span className="min-w-0 truncate">{choice.name}</span>
            <span className="shrink-0 text-soft">{choice.about}</span>
          </div>
        ))}
        {choices.length === 0 && (
          <p className="px-3 py-2 text-soft">{searching ? 'Searching…' : 'Nothing has this name.'}</p>
        )}
      </div>
    </Dialog>
  )
}

/** Views are those of the text as it stands, so that Enter never opens what an earlier text had found; only the search may lag. */
function useChoices(text: string): { choices: Choice[]; searching: boolean } {
  const me = useCaller()
  const search = useDeferredValue(text)
  const isId = uuid.test(text)
  const searches = text.length > 1 && !isId
  const jobs = useAsk('listJobs', { query: { limit: 8, search } }, { enabled: searches && search.length > 1 })
  if (isId) {
    const choices = [
      { key: 'execution', name: text, about: 'Execution', to: `/executions/${text}` },
      { key: 'run', name: text, about: 'DAG run', to: `/dag-runs/${text}` },
      { key: 'job', name: text, about: 'Job', to: `/jobs/${text}` },
    ]
    return { choices, searching: false }
  }
  const views = placesOf(me)
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .map(({ path, name, about }) => ({ key: path, name, about, to: path }))
  const pending = searches && (search !== text || jobs.isPlaceholderData || jobs.isLoading)
  const found = searches && !pending ? (jobs.data?.items ?? []) : []
  const choices = [
    ...views,
    ...found.map(({ jobId, name, key }) => ({ key: jobId, name, about: key ?? 'Job', to: `/jobs/${jobId}` })),
  ]
  return { choices, searching: pending }
}
