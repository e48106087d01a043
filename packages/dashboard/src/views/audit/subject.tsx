import type { AuditEntry } from '@carillon/contract'
import { Link } from '@tanstack/react-router'

const style = 'font-mono text-[13px] break-all'

/** Leads to what was changed, if it has a page. */
export function Subject({ entry: { action, subject } }: { entry: AuditEntry }) {
  if (subject === null) return <span className="text-soft">–</span>
  const link = `${style} text-accent hover:underline`
  if (action.startsWith('job.') && action !== 'job.deleted') {
    return (
      <Link to="/jobs/$jobId" params={{ jobId: subject }} className={link}>
        {subject}
      </Link>
    )
  }
  if (action.startsWith('execution.')) {
    return (
      <Link to="/executions/$executionId" params={{ executionId: subject }} className={link}>
        {subject}
      </Link>
    )
  }
  if (action.startsWith('dag.') && action !== 'dag.deleted') {
    return (
      <Link to="/dags/$dagId" params={{ dagId: subject }} className={link}>
        {subject}
      </Link>
    )
  }
  // Of the installation: who sees these entries may open the page.
  if (action.startsWith('tenant.')) {
    return (
      <Link to="/tenants/$tenant" params={{ tenant: subject }} className={link}>
        {subject}
      </Link>
    )
  }
  return <span className={style}>{subject}</span>
}
