import { nodeVersions, requireNode } from '@carillon/contract/node-version'

requireNode('@carillon/server', nodeVersions.server)
