/** Writes a definition: as a form and as YAML, two views of one object, with the times it would fire at beside them. */

import * as Tabs from '@radix-ui/react-tabs'
import { useMutation } from '@tanstack/react-query'
import type { LinkProps } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Button, LinkButton } from '../../components/button.tsx'
import { Panel } from '../../components/panel.tsx'
import { Refusal } from '../../lib/api.ts'
import type { Definition } from './definition.ts'
import { FireList } from './fire-list.tsx'
import { EditingContext } from './form-fields.tsx'
import { JobForm } from './job-form.tsx'
import { problemsOf } from './problems.ts'
import { type Preview, usePreview } from './use-preview.ts'
import { YamlTab } from './yaml-tab.tsx'

export function Editor({
  start,
  action,
  isNew,
  back,
  save,
  onRefused,
}: {
  start: Definition
  action: string
  isNew: boolean
  /** Where Cancel leads. */
  back: LinkProps
  save: (definition: Definition) => Promise<unknown>
  /** Says more about a refusal than its own words. */
  onRefused?: (refusal: Refusal, definition: Definition) => ReactNode
}) {
  const form = useRef<HTMLFormElement>(null)
  const [definition, setDefinition] = useState(start)
  const [unread, setUnread] = useState<Record<string, string>>({})
  const saving = useMutation({ mutationFn: save })
  const preview = usePreview(definition)
  const refusal = saving.error instanceof Refusal ? saving.error : null
  const problems = useMemo(
    () => new Map([...preview.problems, ...(refusal === null ? [] : problemsOf(refusal))]),
    [preview.error, refusal],
  )
  const { reset } = saving
  const editing = useMemo(
    () => ({
      definition,
      problems,
      change: (changed: Definition) => {
        setDefinition(changed)
        reset()
      },
      broken: (pointer: string, problem: string | undefined) =>
        setUnread(({ [pointer]: _, ...others }) =>
          problem === undefined ? others : { ...others, [pointer]: problem },
        ),
    }),
    [definition, problems, reset],
  )
  useEffect(() => {
    if (refusal !== null) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [refusal])
  const isUnread = Object.keys(unread).length > 0
  return (
    <EditingContext value={editing}>
      <form
        ref={form}
        noValidate
        className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isUnread) saving.mutate(definition)
        }}
      >
        <Panel>
          <Tabs.Root defaultValue="form">
            <Tabs.List aria-label="How to write it" className="flex gap-1 border-b border-line px-3 pt-2">
              <Tab value="form">Form</Tab>
              <Tab value="yaml">YAML</Tab>
            </Tabs.List>
            <Tabs.Content value="form">
              <JobForm isNew={isNew} />
            </Tabs.Content>
            <Tabs.Content value="yaml">
              <YamlTab />
            </Tabs.Content>
          </Tabs.Root>
        </Panel>
        <div className="space-y-4 lg:sticky lg:top-4">
          <NextFires of={definition} preview={preview} />
          {saving.error !== null && (
            <div role="alert" className="rounded-lg border border-bad bg-bad-soft px-4 py-3">
              <p className="font-medium text-bad">{saving.error.message}</p>
              {refusal && <Wrong of={refusal} />}
              {refusal && onRefused?.(refusal, definition)}
            </div>
          )}
          {isUnread && <p className="text-bad">Fix the fields that cannot be read, then save.</p>}
          <div className="flex gap-2">
            <Button kind="main" type="submit" disabled={saving.isPending || isUnread}>
              {saving.isPending ? 'Saving…' : action}
            </Button>
            <LinkButton {...back}>Cancel</LinkButton>
          </div>
        </div>
      </form>
    </EditingContext>
  )
}

function Tab({ value, children }: { value: string; children: ReactNode }) {
  return (
    <Tabs.Trigger
      value={value}
      className="rounded-t-md border-b-2 border-transparent px-3 py-1.5 font-medium text-soft data-[state=active]:border-accent data-[state=active]:text-ink"
    >
      {children}
    </Tabs.Trigger>
  )
}

function NextFires({ of: { type, runAt }, preview }: { of: Definition; preview: Preview }) {
  const words =
    type === 'DELAYED'
      ? 'Once, that long after it is saved.'
      : type === 'AFTER'
        ? 'Whenever the other job has run.'
        : type === 'ONE_SHOT' && runAt === undefined
          ? 'Once, as soon as it is saved.'
          : null
  return (
    <Panel title="Next fires" side={preview.fires && 'Preview of this draft'}>
      <div aria-live="polite">
        {words !== null ? (
          <p className="px-4 py-3 text-soft">{words}</p>
        ) : preview.fires ? (
          <FireList of={preview.fires} />
        ) : preview.error !== null ? (
          <p className="px-4 py-3 text-bad">{preview.error.message}</p>
        ) : (
          <p className="px-4 py-3 text-soft">Set a schedule to see its times.</p>
        )}
      </div>
    </Panel>
  )
}

function Wrong({ of }: { of: Refusal }) {
  const errors = of.problem.errors ?? []
  if (errors.length === 0) return null
  return (
    <ul className="mt-1 list-disc pl-5">
      {errors.map(({ pointer, message, hint }) => (
        <li key={`${pointer}${message}`}>
          {pointer && <code className="font-mono">{pointer}</code>} {message}
          {hint && <span className="text-soft"> {hint}</span>}
        </li>
      ))}
    </ul>
  )
}
