/** Someone else changed the job since its editing began: what they changed, and the two ways on. */
import type { Job } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { useAsk } from '../../lib/queries.ts'
import { Diff } from './diff.tsx'

export function Conflict({
  base,
  onOverwrite,
  onTake,
}: {
  base: Job
  onOverwrite: (version: number) => Promise<void>
  onTake: (current: Job) => void
}) {
  const current = useAsk('getJob', { params: { jobId: base.jobId } })
  const overwriting = useMutation({ mutationFn: onOverwrite })
  return (
    <Answer of={current}>
      {(job) => (
        <div className="mt-2 space-y-2">
          <p>
            Version {job.version} holds now; you began from {base.version}. What you wrote is still here. Since then
            this was changed:
          </p>
          <Diff before={base} after={job} />
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => onTake(job)}>Start again from version {job.version}</Button>
            <Button kind="danger" disabled={overwriting.isPending} onClick={() => overwriting.mutate(job.version)}>
              Overwrite it with mine
            </Button>
          </div>
          {overwriting.error && <p className="text-bad">{overwriting.error.message}</p>}
        </div>
      )}
    </Answer>
  )
}
