import { nodeVersions, requireNode } from '@carillon/contract/node-version'

requireNode('@carillon/embedded', nodeVersions.embedded)
