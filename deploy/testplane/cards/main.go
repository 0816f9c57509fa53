// cards pretends a node's cards to its kubelet, as a vendor's device plugin reports real ones.
//
//	cards FOLDER RESOURCE COUNT SICK
//
// FOLDER is the kubelet's device-plugins folder. SICK is a file that names the indexes of broken cards, `3` or `0,3`;
// it is read again every half second, and a file that is not there means that all cards are well.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socket        = "berth-cards.sock"
	look          = 500 * time.Millisecond
	registerTries = 150
	registerPause = 200 * time.Millisecond
)

type cards struct {
	plugin.UnimplementedDevicePluginServer
	count int
	sick  string
}

// devices answers every card with its health as the file has it now.
func (c *cards) devices() []*plugin.Device {
	text, _ := os.ReadFile(c.sick)
	broken := strings.Split(strings.TrimSpace(string(text)), ",")
	all := make([]*plugin.Device, c.count)
	for i := range all {
		health := plugin.Healthy
		if slices.Contains(broken, strconv.Itoa(i)) {
			health = plugin.Unhealthy
		}
		all[i] = &plugin.Device{ID: strconv.Itoa(i), Health: health}
	}
	return all
}

func (c *cards) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

// ListAndWatch tells the kubelet of all cards at once, and again whenever the health of one changed.
func (c *cards) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	var told []*plugin.Device
	for {
		now := c.devices()
		same := func(a, b *plugin.Device) bool { return a.ID == b.ID && a.Health == b.Health }
		if !slices.EqualFunc(told, now, same) {
			if err := stream.Send(&plugin.ListAndWatchResponse{Devices: now}); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(look):
		}
	}
}

// Allocate names the cards to the container, as the vendor's own plugin does.
func (c *cards) Allocate(_ context.Context, asked *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	answer := &plugin.AllocateResponse{}
	for _, container := range asked.ContainerRequests {
		visible := map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")}
		answer.ContainerResponses = append(answer.ContainerResponses, &plugin.ContainerAllocateResponse{Envs: visible})
	}
	return answer, nil
}

func main() {
	if len(os.Args) != 5 {
		fail("usage: cards FOLDER RESOURCE COUNT SICK")
	}
	count, err := strconv.Atoi(os.Args[3])
	if err != nil {
		fail(err)
	}
	folder, resource := os.Args[1], os.Args[2]
	serve(filepath.Join(folder, socket), &cards{count: count, sick: os.Args[4]})
	register(filepath.Join(folder, "kubelet.sock"), resource)
	select {}
}

func serve(at string, server *cards) {
	_ = os.Remove(at)
	listener, err := net.Listen("unix", at)
	if err != nil {
		fail(err)
	}
	served := grpc.NewServer()
	plugin.RegisterDevicePluginServer(served, server)
	go func() { fail(served.Serve(listener)) }()
}

func register(kubelet, resource string) {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fail(err)
	}
	request := &plugin.RegisterRequest{Version: plugin.Version, Endpoint: socket, ResourceName: resource}
	for range registerTries {
		if _, err = plugin.NewRegistrationClient(connection).Register(context.Background(), request); err == nil {
			fmt.Println("registered")
			return
		}
		time.Sleep(registerPause)
	}
	fail(err)
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, "cards:", why)
	os.Exit(1)
}
