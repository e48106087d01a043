import type { Job, WireJobInput } from '@carillon/contract'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Answer } from '../../components/answer.tsx'
import { Heading } from '../../components/panel.tsx'
import { call, Refusal } from '../../lib/api.ts'
import { changed, useAsk } from '../../lib/queries.ts'
import { Conflict } from './conflict.tsx'
import { type Definition, definitionOf } from './definition.ts'
import { Editor } from './editor.tsx'
import { NotAllowed } from './not-allowed.tsx'

export default function EditJob() {
  const { jobId } = useParams({ strict: false }) as { jobId: string }
  const job = useAsk('getJob', { params: { jobId } })
  return (
    <NotAllowed without="jobs:write">
      <Answer of={job}>{(found) => <Edit key={found.jobId} of={found} />}</Answer>
    </NotAllowed>
  )
}

/** Begun from one version; what others change meanwhile does not change what is being written. */
function Edit({ of }: { of: Job }) {
  const [base, setBase] = useState(of)
  const [round, again] = useState(0)
  const navigate = useNavigate()
  const { jobId } = of
  const put = async (definition: Definition, version: number) => {
    const headers = { 'if-match': `"${version}"` }
    await call('replaceJob', { params: { jobId }, body: definition as WireJobInput, headers }).catch(async (error) => {
      if (isConflict(error)) await changed('getJob')
      throw error
    })
    await changed('getJob', 'listJobs', 'listJobVersions', 'nextFires')
    await navigate({ to: '/jobs/$jobId', params: { jobId } })
  }
  const onRefused = (refusal: Refusal, definition: Definition) =>
    isConflict(refusal) && (
      <Conflict
        base={base}
        onOverwrite={(version) => put(definition, version)}
        onTake={(current) => {
          setBase(current)
          again(round + 1)
        }}
      />
    )
  return (
    <>
      <Heading title={`Edit ${base.name}`} about={`From version ${base.version}`} />
      <Editor
        key={round}
        start={definitionOf(base)}
        action="Save job"
        isNew={false}
        back={{ to: '/jobs/$jobId', params: { jobId } }}
        save={(definition) => put(definition, base.version)}
        onRefused={onRefused}
      />
    </>
  )
}

function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'VERSION_MISMATCH'
}
