// coredns answers names of headless Services to pods of the real test nodes: CoreDNS with the few plugins that needs.
package main

import (
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func init() {
	dnsserver.Directives = []string{"errors", "log", "ready", "kubernetes"}
}

func main() {
	coremain.Run()
}
