module berth.dev/testplane/pause

go 1.26.0
