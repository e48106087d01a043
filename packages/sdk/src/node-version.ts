import { nodeVersions, requireNode } from '@carillon/contract/node-version'

requireNode('@carillon/sdk', nodeVersions.sdk)
