import type { WireJobInput } from '@carillon/contract'
import { useNavigate } from '@tanstack/react-router'
import { Heading } from '../../components/panel.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { viewerZone } from '../../lib/time.ts'
import { blankIn } from './definition.ts'
import { Editor } from './editor.tsx'
import { NotAllowed } from './not-allowed.tsx'

export default function NewJob() {
  const navigate = useNavigate()
  return (
    <NotAllowed without="jobs:write">
      <Heading title="New job" about="What runs, and when" />
      <Editor
        start={blankIn(viewerZone)}
        action="Create job"
        isNew
        back={{ to: '/jobs' }}
        save={async (definition) => {
          const { jobId } = await call('createJob', { body: definition as WireJobInput })
          await changed('listJobs')
          await navigate({ to: '/jobs/$jobId', params: { jobId } })
        }}
      />
    </NotAllowed>
  )
}
